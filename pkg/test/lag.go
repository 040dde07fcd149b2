package test

import (
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// lagging is what the managed reconciler says before it reads an object past a cache.
const lagging = "The cache lags behind, asking the API server"

// Logger returns a logger that hands on to next, nil for nowhere, and excuses reads.
// A cache that is late, as on a busy machine, makes the managed reconciler read an
// object once at the API server: no fault of a provider. It says so first, and if it
// says so to this logger, the next read of the object is not among [Ledger.Objects]
// but among [Ledger.Lags], even if a Reset comes between. Every other read counts as
// before. It may be used concurrently.
func (l *Ledger) Logger(next logging.Logger) logging.Logger {
	if next == nil {
		next = logging.NewNopLogger()
	}

	return listener{next, l}
}

// Lags returns the reads that were announced to the Logger.
func (l *Ledger) Lags() []Request {
	return l.filter(func(r entry) bool { return r.lag })
}

// excuses says whether a request was announced, once for each time that it was.
func (l *Ledger) excuses(r Request, namespace string) bool {
	object := types.NamespacedName{Namespace: namespace, Name: r.Name}.String()
	if r.Verb != http.MethodGet || l.lags[object] == 0 {
		return false
	}
	l.lags[object]--

	return true
}

func (l *Ledger) announce(object string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lags == nil {
		l.lags = map[string]int{}
	}
	l.lags[object]++
}

// A listener hears of lags.
type listener struct {
	logging.Logger

	ledger *Ledger
}

// Debug listens, and hands on.
func (l listener) Debug(msg string, keysAndValues ...any) {
	for i := 0; msg == lagging && i+1 < len(keysAndValues); i += 2 {
		if object, ok := keysAndValues[i+1].(string); ok && keysAndValues[i] == "object" {
			l.ledger.announce(object)
		}
	}
	l.Logger.Debug(msg, keysAndValues...)
}

// WithValues returns a listener as well.
func (l listener) WithValues(keysAndValues ...any) logging.Logger {
	return listener{l.Logger.WithValues(keysAndValues...), l.ledger}
}
