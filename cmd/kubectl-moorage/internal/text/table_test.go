package text_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer

	table := text.NewTable(&out, "NAME", "REASON", "MESSAGE")
	table.Row("a", "", "")
	table.Row("longer", "x\ty", "two\nlines")

	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}

	want := "NAME     REASON   MESSAGE\na\nlonger   x y      two lines\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestAge(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)

	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "90s", 5 * time.Minute: "5m", 3 * time.Hour: "3h", 50 * time.Hour: "2d",
		-time.Minute: "0s", // clocks differ
	} {
		if got := text.Age(now, now.Add(-d)); got != want {
			t.Errorf("the age after %v is %s, want %s", d, got, want)
		}
	}

	if got := text.Age(now, time.Time{}); got != "unknown" {
		t.Errorf("the age of no time is %s", got)
	}
}

// TestTableOfLongCells checks that a long cell is shown whole and does not widen the cells of other rows: the size of
// a table with one long message per row grows with the number of rows, not with its square.
func TestTableOfLongCells(t *testing.T) {
	var out bytes.Buffer

	long := strings.Repeat("x", 10_000)

	table := text.NewTable(&out, "NAME", "VALUE", "MESSAGE")
	table.Row("a", long, "after")

	for range 100 {
		table.Row("größe", "1", "m")
	}

	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}

	want := "NAME    VALUE   MESSAGE\na       " + long + "   after\n"
	if got := out.String(); len(got) > 20_000 || !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, "\ngröße   1       m\n") {
		t.Errorf("%d bytes: %.60s ... %s", len(got), got, got[len(got)-60:])
	}
}
