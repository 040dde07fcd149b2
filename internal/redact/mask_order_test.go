package redact

import "testing"

// TestOrderOfSecrets: a secret that begins like another one is taken out as a whole, whichever
// of them is known first.
func TestOrderOfSecrets(t *testing.T) {
	for _, tc := range []struct{ reason, short, long string }{
		{"letters", "hunter2-first", "hunter2-first-and-more-9x"},
		{"signs", "#!#!#!", "#!#!#!$?$?"},
	} {
		for _, m := range []*Mask{NewMask([]byte(tc.short), []byte(tc.long)),
			NewMask([]byte(tc.long), []byte(tc.short))} {
			if got := m.Text("neither " + tc.long + " nor " + tc.short); got != "neither [REDACTED] nor [REDACTED]" {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		}
	}
}
