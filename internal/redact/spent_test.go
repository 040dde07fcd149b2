package redact

import (
	"syscall"
	"testing"
	"time"
)

// spent returns the processor time of this process: how long something takes by the clock
// depends on what else the machine does.
func spent(t *testing.T) time.Duration {
	t.Helper()

	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}

	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
