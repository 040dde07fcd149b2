// Package log writes formatted lines, for plugins of virtual clusters. The lines go to the same logger as all others,
// see pkg/logging. New code should use a logging.Logger.
package log

import (
	"fmt"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A Logger writes formatted lines. Format values, not secrets or whole objects.
// Loggers may be used concurrently.
type Logger interface {
	// Infof writes a line for the operator of the program.
	Infof(format string, a ...any)

	// Debugf writes a line that helps to debug the program.
	Debugf(format string, a ...any)

	// Errorf writes a line about an error.
	Errorf(format string, a ...any)

	// Base returns the logger that the lines go to.
	Base() logr.Logger

	// WithName returns a logger that adds a name to each line.
	WithName(name string) Logger
}

// New returns a logger of that name whose lines go to controller-runtime's logger,
// also if that is set later.
func New(name string) Logger { return NewFromExisting(ctrllog.Log, name) }

// NewFromExisting returns a logger of that name whose lines go to another one. The
// zero logr.Logger drops them.
func NewFromExisting(log logr.Logger, name string) Logger { return of(log.WithName(name)) }

// NewWithoutName returns a logger whose lines go to controller-runtime's logger, also
// if that is set later.
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
