package systemtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestRestart: a restarted provider sends nothing for objects that are up to date, connection Secrets and
// references included. It reads one Secret, that of the connection.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	spy := newSpy(w)
	all := map[string]resource.Managed{}

	t.Run("Before", func(t *testing.T) {
		runProvider(t, badPoll)

		for name, k := range kinds() {
			k.prepare(w)

			mg := k.make(w, "data")
			connect(mg, secretOf(k.resource))
			w.create(mg)
			all[name] = mg
		}

		for _, mg := range all {
			w.awaitReady(mg)
		}

		pc := w.providerConfig("")
		w.awaitConfig(pc, "counts its users", func() bool { return pc.Status.Users == int64(len(all)+1) })
	})

	t.Run("After", func(t *testing.T) {
		ledger, begin := &test.Ledger{}, time.Now()
		runProvider(t, badPoll, ledger)

		for name, k := range kinds() {
			call := k.call("INFO", "data")
			before := spy.count(call)
			wait.Until(t, "looks at the "+name, func() bool { return spy.count(call) >= before+3 })
		}

		// The Secret of a connection is read once in a minute.
		sent := test.SummarizeRequests(ledger.Objects())
		most := 1 + int(time.Since(begin)/time.Minute)

		var allowed []string
		for n := range most {
			allowed = append(allowed, fmt.Sprintf("1 GET namespaces, %d GET secrets", n+1))
		}

		if !slices.Contains(allowed, sent) || len(ledger.Events()) > 0 {
			t.Errorf("want one of %q, got %s and %d events: %+v", allowed, sent, len(ledger.Events()), ledger.Objects())
		}

		fmt.Printf("restart_requests_for_objects: %d\n", len(ledger.Objects())-2)
	})
}
