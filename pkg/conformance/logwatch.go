package conformance

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr/funcr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// maxLogLines is the maximum number of lines that are kept between two calls.
const maxLogLines = 1000

// A logLines has the lines that the process has logged since they were taken last. It may be used concurrently.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// add adds a line.
func (l *logLines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < maxLogLines {
		l.lines = append(l.lines, line)
	}
}

// take returns the lines, and removes them.
func (l *logLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.lines
	l.lines = nil

	return out
}

// A logWatch passes the lines of a logger to all runs. It may be used concurrently.
type logWatch struct {
	mu   sync.Mutex
	runs map[*logLines]bool
}

// processLog returns the watch of the logger of controller-runtime. A process can set that logger once. If a test has
// set it before, the watch gets no lines.
var processLog = sync.OnceValue(func() *logWatch {
	w := &logWatch{runs: map[*logLines]bool{}}
	ctrllog.SetLogger(funcr.New(w.write, funcr.Options{Verbosity: 1}))

	return w
})

// write passes a line to all runs.
func (w *logWatch) write(prefix, args string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for run := range w.runs {
		run.add(strings.TrimSpace(prefix + " " + args))
	}
}

// begin starts to collect lines. The returned function ends this.
func (w *logWatch) begin() (l *logLines, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l = &logLines{}
	w.runs[l] = true

	return l, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.runs, l)
	}
}

// works reports whether the lines of the logger of controller-runtime arrive.
func (l *logLines) works() bool {
	ctrllog.Log.Info("The conformance suite begins")

	return len(l.take()) > 0
}

// judgeLog reports a line of the log that shows a secret: one of the suite, or one that the client has passed to
// external.Conceal.
func (t *recorder) judgeLog(a clientCall) {
	lines := t.log.take()
	if len(lines) == 0 {
		return
	}
	mask := t.concealed.Mask()
	for _, line := range lines {
		masked := mask.Text(line)
		for _, secret := range t.suite.allSecrets() {
			masked = strings.ReplaceAll(masked, secret, "<secret>")
		}
		if masked != line {
			t.violate("secrets-are-kept", fmt.Sprintf("the log of the process shows one after %s: %s. Log no text that has a "+
				"secret, such as a statement or the body of a request", a, masked))

			return
		}
	}
}
