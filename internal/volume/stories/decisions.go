package stories

import (
	"sync"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A decisions value counts the decisions in the passes of one provider. It receives them as a logger. Other providers
// of the process have their own decisions value. The zero value is empty.
type decisions struct {
	mu sync.Mutex
	n  map[string]int
}

// count returns how often an action was decided on.
func (d *decisions) count(action string) int {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.n[action]
}

func (d *decisions) Info(string, ...any) {}

func (d *decisions) Debug(msg string, keysAndValues ...any) {
	if msg != "Decided" || len(keysAndValues) < 2 {
		return
	}
	action, _ := keysAndValues[1].(string)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n == nil {
		d.n = map[string]int{}
	}
	d.n[action]++
}

func (d *decisions) WithValues(...any) logging.Logger { return d }
