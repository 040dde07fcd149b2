package reasons

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	got, known := Of("UpToDate", "UpdateRestricted")
	if !known || !strings.Contains(got.Meaning, "policies forbid") || !strings.Contains(got.Remedy, "Change the policy") {
		t.Errorf("UpdateRestricted is %+v", got)
	}

	if got, known := Of("Ready", "Available"); !known || got.Remedy != "" {
		t.Errorf("Available is %+v", got)
	}

	if got, known := Of("Synced", "Available"); known {
		t.Errorf("a reason of another condition is %+v", got)
	}
}

// TestTextsArePlain checks that the texts have no markup and stay on one line.
func TestTextsArePlain(t *testing.T) {
	for k, v := range texts {
		for _, text := range []string{v.Meaning, v.Remedy} {
			if strings.ContainsAny(text, "`\n[|") {
				t.Errorf("%v has markup: %s", k, text)
			}
		}
	}
}

// TestBlockingReasonsExist checks that each reason for which waiting does not help is one of the library.
func TestBlockingReasonsExist(t *testing.T) {
	blocking := 0

	for k := range texts {
		if Blocks(k.reason) {
			blocking++
		}
	}

	if blocking != 10 {
		t.Errorf("%d of the library's reasons block, want 10: was one renamed?", blocking)
	}

	if Blocks("ReconcileError") || Blocks("") {
		t.Error("an error that is retried blocks")
	}
}
