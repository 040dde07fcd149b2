package tour

import (
	"fmt"
	"strings"
	"testing"
)

// TestStatusLink: the last link is found, however the log is written.
func TestStatusLink(t *testing.T) {
	log := ""
	for _, digit := range []string{"1", "2"} {
		log += fmt.Sprintf("{\"msg\":\"a\"}\n{\"url\":\"http://127.0.0.1:4711/login?token=%s\",\"msg\":\"b\"}\n",
			strings.Repeat(digit, 32))
	}

	for size := 1; size < len(log); size++ {
		tour := &Tour{}
		if tour.StatusPage() != nil {
			t.Fatal("there is a link before the log")
		}

		for rest := log; rest != ""; {
			n := min(size, len(rest))
			fmt.Fprint(&tour.page, rest[:n])
			rest = rest[n:]
		}

		want := "# http://127.0.0.1:4711/login?token=" + strings.Repeat("2", 32)
		if got := tour.StatusPage(); len(got) != 2 || got[1] != want {
			t.Fatalf("written in parts of %d: %q", size, got)
		}
	}
}
