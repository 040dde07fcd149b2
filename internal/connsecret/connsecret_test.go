package connsecret_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/moorage-dev/moorage/internal/connsecret"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestChanges(t *testing.T) {
	type data = map[string][]byte
	large := make([]byte, corev1.MaxSecretSize)
	for why, tc := range map[string]struct {
		held, details, want data
		says                []string
	}{
		"a new Secret holds all": {nil, data{"a": []byte("1"), "b": {}},
			data{"a": []byte("1"), "b": {}}, nil},
		"what is there is not written again": {data{"a": []byte("1"), "c": []byte("3")}, data{"a": []byte("1")},
			data{}, nil},
		"another value replaces": {data{"a": []byte("1")}, data{"a": []byte("2")},
			data{"a": []byte("2")}, nil},
		"an empty value does not": {data{"a": []byte("1")}, data{"a": {}}, data{}, nil},
		"an invalid key spares the others": {nil, data{"tls/ca": []byte("x"), "a": []byte("1")},
			data{"a": []byte("1")}, []string{`"tls/ca"`, "not valid as a key"}},
		"so does a value that is too large": {nil, data{"large": append(large, 'x'), "a": []byte("1")},
			data{"a": []byte("1")}, []string{`"large"`, "1048576"}},
		"the sum counts, the smallest first": {nil, data{"large": large, "a": []byte("1")}, data{"a": []byte("1")},
			[]string{`"large"`}},
		"what the Secret holds counts": {data{"of another": large[1:]},
			data{"a": []byte("1"), "b": []byte("22")}, data{"a": []byte("1")}, []string{`"b"`}},
		"what is replaced makes room": {data{"large": large}, data{"large": []byte("x")},
			data{"large": []byte("x")}, nil},
		"as much as a Secret holds is held": {nil, data{"large": large}, data{"large": large}, nil},
		"many keys are counted, and not named": {nil, data{
			"/1": nil, "/2": nil, "/3": nil, "/4": nil, "/5": nil, "/6": nil, "/7": nil, "/8": nil,
			"/9": nil,
		}, data{}, []string{`"/8"`, "and 1 more"}},
	} {
		got, err := connsecret.Changes(tc.held, tc.details)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%.500s", why, diff)
		}
		var unheld *connsecret.UnheldError
		if errors.As(err, &unheld) != (tc.says != nil) {
			t.Errorf("%s: error %v", why, err)

			continue
		}
		for _, text := range tc.says {
			if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), `"a"`) {
				t.Errorf("%s: error %v", why, err)
			}
		}
	}
}
