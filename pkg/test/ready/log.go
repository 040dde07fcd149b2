package ready

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// maxLines is the number of log lines that a Log keeps.
const maxLines = 40

// reconcileError is the message that controller-runtime logs when a reconcile returns an error.
const reconcileError = "Reconciler error"

// Keys of the log lines of a controller of controller-runtime.
const (
	keyKind      = "controllerKind"
	keyNamespace = "namespace"
	keyName      = "name"
)

// A Log keeps the last 40 lines of the log of a provider, and counts the errors of its reconcilers. It may be used
// concurrently. The zero value is empty and ready to use. A Log must not be copied after its first use.
type Log struct {
	mu       sync.Mutex
	lines    []string
	failures map[object]failure
}

// An object is the object of a log line.
type object struct{ kind, namespace, name string }

// A failure is the last error of an object, and how often the object has failed with it in a row.
type failure struct {
	text  string
	times int
}

// Logger returns a logger that writes to the Log. It drops lines of a higher verbosity than 0. Use it as the logger of
// the manager, because the controllers of the manager log the errors of their reconcilers with it.
func (l *Log) Logger() logr.Logger {
	f := funcr.NewFormatter(funcr.Options{
		LogTimestamp: true, TimestampFormat: "15:04:05.000", LogInfoLevel: new(""),
	})

	return logr.New(&sink{Formatter: f, log: l})
}

// Lines returns the last lines, the oldest first.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Clone(l.lines)
}

// add adds a line.
func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	l.lines = l.lines[max(0, len(l.lines)-maxLines):]
}

// count counts an error of an object.
func (l *Log) count(of object, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil {
		l.failures = map[object]failure{}
	}
	last := l.failures[of]
	if last.text != text {
		last = failure{text: text}
	}
	last.times++
	l.failures[of] = last
}

// forget forgets the errors of an object.
func (l *Log) forget(of object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, of)
}

// failure returns the last error of an object. It is zero if there is none.
func (l *Log) failure(of object) failure {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.failures[of]
}

// A sink writes to a Log.
type sink struct {
	funcr.Formatter

	log *Log
	of  object
}

// WithName implements logr.LogSink.
func (s sink) WithName(name string) logr.LogSink {
	s.AddName(name)

	return &s
}

// WithValues implements logr.LogSink.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	s.AddValues(keysAndValues)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		value := fmt.Sprint(keysAndValues[i+1])
		switch keysAndValues[i] {
		case keyKind:
			s.of.kind = value
		case keyNamespace:
			s.of.namespace = value
		case keyName:
			s.of.name = value
		}
	}

	return &s
}

// Info implements logr.LogSink.
func (s sink) Info(level int, msg string, keysAndValues ...any) {
	s.write(s.FormatInfo(level, msg, keysAndValues))
}

// Error implements logr.LogSink.
func (s sink) Error(err error, msg string, keysAndValues ...any) {
	s.write(s.FormatError(err, msg, keysAndValues))
	if msg == reconcileError && err != nil {
		s.log.count(s.of, err.Error())
	}
}

func (s sink) write(prefix, args string) {
	if prefix != "" {
		args = prefix + " " + args
	}
	s.log.add(args)
}
