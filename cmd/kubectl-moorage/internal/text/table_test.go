package text_test

import (
	"bytes"
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
