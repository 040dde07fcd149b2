package trim

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Advice to the system about memory that is in a file as well. It comes back when it is
// used.
const (
	cold     = 20                    // MADV_COLD: take this before anything else, when memory is short
	dontNeed = syscall.MADV_DONTNEED // it is none of this process's any more
)

// Program gives back what of the program itself is in memory. Most of a program is
// looked at once, when it starts; the rest is mapped again at once. The system keeps
// what it has room for among what it has of files.
func Program() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			continue
		}
		if mode[1] == '-' && strings.HasSuffix(strings.TrimSpace(line), " "+self) {
			for _, advice := range []uintptr{cold, dontNeed} {
				_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
			}
		}
	}
}
