package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/internal/redact"
)

const (
	// The largest number of values of a label that its writer chooses.
	maxValues = 64

	// The longest of them, in bytes.
	maxValueLen = 128

	// The value of all others.
	other = "other"
)

// A bounded counter has one label whose values come from the code of this module or of a provider. It limits the
// number of values.
type bounded struct {
	vec  *prometheus.CounterVec
	kind string

	mu    sync.Mutex
	known map[string]prometheus.Counter
}

// newBounded returns a counter that serves these values from the beginning.
func newBounded(vec *prometheus.CounterVec, kind string, values ...string) *bounded {
	b := &bounded{vec: vec, kind: kind, known: map[string]prometheus.Counter{}}
	for _, value := range values {
		b.of(value)
	}

	return b
}

func (b *bounded) inc(value string) { b.of(value).Inc() }

func (b *bounded) of(value string) prometheus.Counter {
	b.mu.Lock()
	defer b.mu.Unlock()

	if c, ok := b.known[value]; ok {
		return c
	}
	if value != other && (len(b.known) >= maxValues || !isWord(value)) {
		value = other
	}
	c := b.vec.WithLabelValues(b.kind, value)
	b.known[value] = c

	return c
}

// isWord reports whether a value looks like a constant in code, rather than a text with variable parts.
func isWord(value string) bool {
	const word = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:,"

	return value != "" && len(value) <= maxValueLen && strings.Trim(value, word) == "" && redact.String(value) == value
}
