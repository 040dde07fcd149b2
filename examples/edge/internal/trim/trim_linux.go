package trim

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Advice to the kernel about pages that are backed by a file, and are read again when they are used.
const (
	cold     = 20                    // MADV_COLD: reclaim these pages first when memory is short
	dontNeed = syscall.MADV_DONTNEED // unmap them from this process
)

// Program releases the pages of the binary itself. Most of them are read only once, at the start; the others are mapped
// again as soon as they are used. The kernel keeps the pages in its file cache while it has room.
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
