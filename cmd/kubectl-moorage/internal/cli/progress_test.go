package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestChangesAtTheSameTime checks that as many objects as there are workers are changed at the same time, not more, and
// that a terminal shows how many are done.
func TestChangesAtTheSameTime(t *testing.T) {
	const objects, atOnce = 40, 8

	s := newServer(t)
	for i := range objects {
		s.add("streams.nats.example.org", stream(fmt.Sprintf("s%02d", i)))
	}

	var (
		mu        sync.Mutex
		now, most int
	)

	full := make(chan struct{})
	s.before = func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}

		mu.Lock()

		now++
		if most = max(most, now); most == atOnce && now == atOnce {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full // none is answered before there are as many as may be

		mu.Lock()
		now--
		mu.Unlock()
	}

	var out, stderr strings.Builder

	var ticks atomic.Int64
	c := &console{
		in: strings.NewReader(""), out: &out, err: &stderr, limit: s.limit, workers: atOnce, terminal: true,
		now: func() time.Time { return time.Unix(0, ticks.Add(int64(redrawAfter/2))) },
	}
	code := run(t.Context(), []string{"reconcile", "streams", "--all", "-y", "--kubeconfig", s.kubeconfig}, c)

	if code != 0 || most != atOnce || strings.Count(out.String(), "reconcile requested\n") != objects {
		t.Errorf("exit code %d, %d at the same time\n%s%s", code, most, &out, &stderr)
	}

	if got := stderr.String(); !strings.Contains(got, " of 40 objects, ") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the progress is %q", got)
	}
}
