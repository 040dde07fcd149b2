package tour

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Load returns the load of the machine as text: its load average over one minute, if the system reports it (Linux
// does), and the number of processors.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg") // an error leaves it empty: the load is unknown

	return describe(string(text), runtime.NumCPU())
}

// describe formats the first figure in the text of /proc/loadavg.
func describe(loadavg string, processors int) string {
	load, _, _ := strings.Cut(strings.TrimSpace(loadavg), " ")
	if load == "" {
		load = "unknown"
	}

	return fmt.Sprintf("load average over 1 minute %s, number of processors %d", load, processors)
}
