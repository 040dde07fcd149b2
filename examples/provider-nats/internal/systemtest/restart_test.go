package systemtest

import (
	"fmt"
	"testing"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

// TestRestart: a provider that begins anew sends nothing for what is as it should
// be, connection Secrets and references included. It reads one Secret, that of the
// connection.
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
		ledger := &test.Ledger{}
		runProvider(t, badPoll, ledger)

		for name, k := range kinds() {
			call := k.call("INFO", "data")
			before := spy.count(call)
			eventually(t, "looks at the "+name, func() bool { return spy.count(call) >= before+3 })
		}

		sent := test.SummarizeRequests(ledger.Objects())
		if want := "1 GET namespaces, 1 GET secrets"; sent != want || len(ledger.Events()) > 0 {
			t.Errorf("want %s, got %s and %d events", want, sent, len(ledger.Events()))
		}

		fmt.Printf("restart_requests_for_objects: %d\n", len(ledger.Objects())-2)
	})
}
