package logging

// Keys and values that a logger without the methods of an ExtendedLogger gets instead.
const (
	keyError    = "error"
	keyLogger   = "logger"
	keySeverity = "severity"

	severityError   = "error"
	severityWarning = "warning"
)

// An ExtendedLogger is a Logger with the levels error and warning, and with a name. The package finds the methods by
// a type assertion, so that other implementations of Logger need not have them.
type ExtendedLogger interface {
	Logger

	// Error logs an error that the caller does not return. The error may be nil. Do not log an error that is returned.
	Error(err error, msg string, keysAndValues ...any)

	// Warn logs a state that is not an error but may lead to one.
	Warn(msg string, keysAndValues ...any)

	// WithName returns a logger that has the given name after the name of the original. The original is not changed.
	WithName(name string) Logger
}

// Error logs an error, which may be nil, with l. If l is not an ExtendedLogger, Error calls Info with the additional
// pair severity=error, and with the pair error if err is not nil.
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

// Warn logs a warning with l. If l is not an ExtendedLogger, Warn calls Info with the additional pair
// severity=warning.
func Warn(l Logger, msg string, keysAndValues ...any) {
	l = called(l)

	if e, ok := l.(ExtendedLogger); ok {
		e.Warn(msg, keysAndValues...)

		return
	}

	l.Info(msg, append([]any{keySeverity, severityWarning}, keysAndValues...)...)
}

// WithName returns l with a name. If l is not an ExtendedLogger, the name becomes the value of the key logger.
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
