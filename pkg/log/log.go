// Package log has a Logger that writes formatted lines, for plugins of virtual clusters. By default the lines go to
// controller-runtime's logger. In new code, use a logging.Logger.
package log

import (
	"fmt"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A Logger writes formatted lines. Do not pass secrets or whole objects to it. A Logger is safe for
// concurrent use.
type Logger interface {
	// Infof writes a line for the operator of the program.
	Infof(format string, a ...any)

	// Debugf writes a line for the developer of the program.
	Debugf(format string, a ...any)

	// Errorf writes a line about an error.
	Errorf(format string, a ...any)

	// Base returns the logr.Logger that the Logger writes to.
	Base() logr.Logger

	// WithName returns a Logger that adds a name to each line.
	WithName(name string) Logger
}

// New returns a Logger with the given name. It writes to controller-runtime's logger, even if that
// logger is set later.
func New(name string) Logger { return NewFromExisting(ctrllog.Log, name) }

// NewFromExisting returns a Logger with the given name. It writes to the logger log. If log is the
// zero logr.Logger, lines are dropped.
func NewFromExisting(log logr.Logger, name string) Logger { return of(log.WithName(name)) }

// NewWithoutName returns a Logger without a name. It writes to controller-runtime's logger, even if
// that logger is set later.
func NewWithoutName() Logger { return of(ctrllog.Log) }

func of(l logr.Logger) Logger { return logger{base: l, lines: logging.NewLogrLogger(l)} }

type logger struct {
	base  logr.Logger
	lines logging.Logger
}

func (l logger) Infof(format string, a ...any)  { l.lines.Info(fmt.Sprintf(format, a...)) }
func (l logger) Debugf(format string, a ...any) { l.lines.Debug(fmt.Sprintf(format, a...)) }

func (l logger) Errorf(format string, a ...any) {
	logging.Error(l.lines, nil, fmt.Sprintf(format, a...))
}

func (l logger) Base() logr.Logger { return l.base }

func (l logger) WithName(name string) Logger { return of(l.base.WithName(name)) }
