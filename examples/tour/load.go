package tour

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Load returns how busy the machine is: its load average over one minute, where the
// system tells it (Linux does), and the number of its processors.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg") // what cannot be read is not known

	return describe(string(text), runtime.NumCPU())
}

// describe tells the load that stands first in the text of /proc/loadavg.
func describe(loadavg string, processors int) string {
	load, _, _ := strings.Cut(strings.TrimSpace(loadavg), " ")
	if load == "" {
		load = "unknown"
	}

	return fmt.Sprintf("load average over 1 minute %s, number of processors %d", load, processors)
}
