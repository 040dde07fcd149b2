package sim

import (
	"io"
	"net"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// defaultClass is the class of an opaque external system whose kind is reconciled without
// managed.WithStrictCreateErrors. There, an error of Create counts as a failure unless it says that something may have
// been created. An error that hides the creation leads to a second resource, which cannot be prevented in this class.
const defaultClass = "opaque-default"

// defaultClassScenarios has the scenarios in which that class is tried. The others differ only after a creation.
var defaultClassScenarios = []string{"create", "delete", "delete-during-create", "made-again"}

// lostReported returns the error of a Create whose answer is lost. The error says that something may have been created.
func (o Operation) lostReported(p *process, f Fault) error {
	return reportedErrors[(max(f.Writes, 1)-1)%len(reportedErrors)](o, p)
}

// reportedErrors has the errors by which LostReported says that something may have been created.
var reportedErrors = []func(Operation, *process) error{
	func(o Operation, p *process) error {
		return errors.Wrap(kerrors.NewInternalError(o.failure(p)), "cannot create")
	},
	func(o Operation, p *process) error {
		return errors.Wrap(&net.OpError{Op: "read", Net: "tcp", Err: io.ErrUnexpectedEOF}, o.leakyError(p))
	},
	func(o Operation, p *process) error { return external.MaybeCreated(o.failure(p)) },
}

// losesUnreported exempts the resource of a Create whose error does not say that it may exist, in a class where such an
// error counts as a failure.
func (w *World) losesUnreported(o Operation) {
	if o.Name == "Create" && w.isDefaultClass() {
		w.exempt.surplus.add(Lost, o.mg)
	}
}

// mayBlock returns whether a fault at a Create may block the object. In a class where an error that says nothing about
// a creation counts as a failure, such an error must not block it.
func (w *World) mayBlock(k Kind) bool {
	return slices.Contains(takesAnswer, k) || slices.Contains(saysNeither, k) && !w.isDefaultClass()
}

// takesAnswer are the faults at a Create after which the object may be blocked. saysNeither are the faults whose error
// does not say whether anything was created.
var (
	takesAnswer = []Kind{Hang, HangAfter, LostReported, Conflict, Panics, PanicsAfter, Deaf}
	saysNeither = []Kind{Lost, Fail, Throttle, ExternalOut}
)

func (w *World) isDefaultClass() bool { return w.system != nil && w.system.class.name == defaultClass }

// leftUnreported returns whether a resource is left over although no error said that it may have been created.
func (w *World) leftUnreported() bool { return slices.Contains(w.exempt.surplus.used(), Lost) }
