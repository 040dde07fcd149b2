package logging

// Keys and values of pairs that replace the methods of an ExtendedLogger.
const (
	keyError    = "error"
	keyLogger   = "logger"
	keySeverity = "severity"

	severityError   = "error"
	severityWarning = "warning"
)

// An ExtendedLogger has more than two levels, and a name. It is found by a type
// assertion, so that other implementations of Logger need not have these methods.
type ExtendedLogger interface {
	Logger

	// Error logs an error, which may be nil, that is not returned. An error that is
	// returned is not logged.
	Error(err error, msg string, keysAndValues ...any)

	// Warn logs a state that is no error yet but may lead to one.
	Warn(msg string, keysAndValues ...any)

	// WithName returns a logger whose name is that of the original with the
	// supplied one after it. The original is not changed.
	WithName(name string) Logger
}

// Error logs an error, which may be nil, with l. A logger that is no
// ExtendedLogger gets it as Info, with the pairs severity=error and, if there is
// one, error.
func Error(l Logger, err error, msg string, keysAndValues ...any) {
	l = called(l)

	if e, ok := l.(ExtendedLogger); ok {
		e.Error(err, msg, keysAndValues...)

		return
	}

	pairs := []any{keySeverity, severityError}
	if err != nil {
		pairs = append(pairs, keyError, err)
	}

	l.Info(msg, append(pairs, keysAndValues...)...)
}

// Warn logs a warning with l. A logger that is no ExtendedLogger gets it as Info,
// with the pair severity=warning.
func Warn(l Logger, msg string, keysAndValues ...any) {
	l = called(l)

	if e, ok := l.(ExtendedLogger); ok {
		e.Warn(msg, keysAndValues...)

		return
	}

	l.Info(msg, append([]any{keySeverity, severityWarning}, keysAndValues...)...)
}

// WithName returns l under a name. A logger that is no ExtendedLogger gets the
// name as the value of the key logger.
func WithName(l Logger, name string) Logger {
	if e, ok := l.(ExtendedLogger); ok {
		return e.WithName(name)
	}

	return l.WithValues(keyLogger, name)
}

// called returns the logger for use by a function of this package, which is not the
// reported call site.
func called(l Logger) Logger {
	if d, ok := l.(interface{ deeper() Logger }); ok {
		return d.deeper()
	}

	return l
}
