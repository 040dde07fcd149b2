//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func leads() bool { return syscall.Getpgrp() == os.Getpid() }

// TestApart: whoever is suspended is not woken by the system because of what becomes of
// those who started this program.
func TestApart(t *testing.T) {
	p := start(t, groups, nil)
	<-p.Done()

	if got := p.LastWords(); !strings.Contains(got, "leads: true") {
		t.Errorf("it said %q", got)
	}
}
