//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func leads() bool { return syscall.Getpgrp() == os.Getpid() }

// TestApart: a suspended process is not woken by the system when the parents of this program end.
func TestApart(t *testing.T) {
	p := start(t, groups, nil)
	<-p.Done()

	if got := p.LastWords(); !strings.Contains(got, "leads: true") {
		t.Errorf("it said %q", got)
	}
}
