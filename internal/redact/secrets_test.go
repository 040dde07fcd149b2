package redact_test

import (
	"context"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/redact"
)

func TestSecretsThatBecomeKnown(t *testing.T) {
	s := &redact.Secrets{}
	ctx := redact.Collect(t.Context(), s)
	secret := []byte("correct-horse")
	redact.Conceal(ctx, secret)
	redact.Conceal(context.Background(), []byte("nobody collects"))
	secret[0] = 'X' // the caller may wipe his copy
	got := s.Mask([]byte("battery-staple")).String("login correct-horse and battery-staple refused")
	if strings.Contains(got, "horse") || strings.Contains(got, "staple") || !strings.Contains(got, "refused") {
		t.Errorf("got %q", got)
	}
	if got := (&redact.Secrets{}).Mask().String("nothing known"); got != "nothing known" {
		t.Errorf("got %q", got)
	}
}
