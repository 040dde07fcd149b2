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
	secret[0] = 'X' // the caller may wipe its copy
	got := s.Mask([]byte("battery-staple")).String("login correct-horse and battery-staple refused")
	if strings.Contains(got, "horse") || strings.Contains(got, "staple") || !strings.Contains(got, "refused") {
		t.Errorf("got %q", got)
	}
	if got := (&redact.Secrets{}).Mask().String("nothing known"); got != "nothing known" {
		t.Errorf("got %q", got)
	}
}

// TestSecretsThatAreShared: each collection has the shared secrets, and its own are not shared.
func TestSecretsThatAreShared(t *testing.T) {
	shared := &redact.Secrets{}
	of := redact.Collect(t.Context(), shared)
	for _, secret := range []string{"correct-horse", "battery-staple",
		"stapled-horse"} { // so that there is room for a fourth
		redact.Conceal(of, []byte(secret))
	}
	var none *redact.Secrets
	var all [3]redact.Secrets
	for i, own := range []string{"own-of-the-first", "own-of-the-second", ""} {
		ctx := redact.Collect(t.Context(), &all[i])
		none.Conceal(ctx)
		if own == "" {
			redact.Conceal(ctx, []byte("known-before"))
		}
		shared.Conceal(ctx)
		if own != "" {
			redact.Conceal(ctx, []byte(own))
		}
	}
	shared.Conceal(of)
	shared.Conceal(context.Background())
	redact.Conceal(of, []byte("known-since"))
	const text = "correct-horse own-of-the-first own-of-the-second known-before known-since"
	for i, want := range []string{
		"[REDACTED] [REDACTED] own-of-the-second known-before known-since",
		"[REDACTED] own-of-the-first [REDACTED] known-before known-since",
		"[REDACTED] own-of-the-first own-of-the-second [REDACTED] known-since",
	} {
		if got := all[i].Mask().Text(text); got != want {
			t.Errorf("%d: got %q, want %q", i, got, want)
		}
	}
	if shared.Len() != 4 {
		t.Errorf("%d are shared", shared.Len())
	}
}
