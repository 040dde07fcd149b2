package connection

import "testing"

// TestVersion: equal settings have equal versions, others do not.
func TestVersion(t *testing.T) {
	type settings struct {
		URL    string  `json:"url"`
		Domain *string `json:"domain,omitempty"`
	}
	version := func(s any) string {
		t.Helper()
		v, err := Version(s)
		if err != nil || v == "" {
			t.Fatalf("Version(%v) = %q, %v", s, v, err)
		}

		return v
	}
	first, domain := version(settings{URL: "a"}), "d"
	if again := version(&settings{URL: "a"}); again != first {
		t.Errorf("the same settings have the versions %s and %s", first, again)
	}
	for _, other := range []settings{{URL: "b"}, {URL: "a", Domain: &domain}, {}} {
		if got := version(other); got == first {
			t.Errorf("other settings, %v, have the same version", other)
		}
	}
	if _, err := Version(func() {}); err == nil {
		t.Error("a value without JSON has a version")
	}
}
