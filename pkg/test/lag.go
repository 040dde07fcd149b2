package test

import (
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// lagging is the message that the managed reconciler logs before it reads an object from the API server because its
// cache is stale.
const lagging = "The cache lags behind, asking the API server"

// Logger returns a logger for a managed reconciler. With the logger, [Ledger.Objects] does not have the reads that the
// reconciler makes because its cache is stale. The logger forwards everything to next, or drops it if next is nil. It
// may be used concurrently.
//
// If the cache is stale, for instance on a busy machine, the reconciler reads an object once from the API server. Such
// a read is not a defect of the provider. The reconciler logs each such read before it sends the request. The next read
// of the object is then in [Ledger.Lags] and not in [Ledger.Objects], even if a Reset comes between. Other reads are
// counted as usual.
func (l *Ledger) Logger(next logging.Logger) logging.Logger {
	if next == nil {
		next = logging.NewNopLogger()
	}

	return listener{next, l}
}

// Lags returns the reads that the reconciler made because its cache was stale. The reconciler announces such a read to
// the logger that [Ledger.Logger] returns.
func (l *Ledger) Lags() []Request {
	return l.filter(func(r entry) bool { return r.lag })
}

// excuses reports whether a request was announced, once per announcement.
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

// A listener is a logger that notes announcements of reads.
type listener struct {
	logging.Logger

	ledger *Ledger
}

// Debug notes an announcement, and forwards the line.
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
