package logging

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"time"
)

// NewSlogLogger returns an ExtendedLogger that writes to l at the levels of the same names. An error is the value of
// the key error. The name of a logger is the value of the key logger, with dots between its parts. The log shows the
// caller of this package as the call site. If l is nil, the logger drops everything.
func NewSlogLogger(l *slog.Logger) Logger {
	if l == nil {
		return NewNopLogger()
	}

	return slogLogger{handler: l.Handler(), depth: callers}
}

// callers is the number of frames between the first one of runtime.Callers and the
// reported call: Callers itself, log, and the method that calls it.
const callers = 3

type slogLogger struct {
	handler slog.Handler
	name    string
	depth   int
}

func (l slogLogger) Info(msg string, keysAndValues ...any) {
	l.log(slog.LevelInfo, msg, keysAndValues)
}

func (l slogLogger) Debug(msg string, keysAndValues ...any) {
	l.log(slog.LevelDebug, msg, keysAndValues)
}

func (l slogLogger) DebugEnabled() bool {
	return l.handler.Enabled(context.Background(), slog.LevelDebug)
}

func (l slogLogger) Warn(msg string, keysAndValues ...any) {
	l.log(slog.LevelWarn, msg, keysAndValues)
}

func (l slogLogger) Error(err error, msg string, keysAndValues ...any) {
	if err != nil {
		keysAndValues = append([]any{keyError, err}, keysAndValues...)
	}

	l.log(slog.LevelError, msg, keysAndValues)
}

func (l slogLogger) WithValues(keysAndValues ...any) Logger {
	l.handler = slog.New(l.handler).With(keysAndValues...).Handler()

	return l
}

func (l slogLogger) WithName(name string) Logger {
	if l.name != "" {
		name = l.name + "." + name
	}
	l.name = name

	return l
}

func (l slogLogger) deeper() Logger {
	l.depth++

	return l
}

// log does what the methods of slog.Logger do, but for the call site.
func (l slogLogger) log(level slog.Level, msg string, keysAndValues []any) {
	ctx := context.Background()
	if !l.handler.Enabled(ctx, level) {
		return
	}

	if l.name != "" {
		keysAndValues = slices.Concat([]any{keyLogger, l.name}, keysAndValues)
	}

	var site [1]uintptr
	runtime.Callers(l.depth, site[:])

	r := slog.NewRecord(time.Now(), level, msg, site[0])
	r.Add(keysAndValues...)
	_ = l.handler.Handle(ctx, r) // slog ignores the error as well.
}
