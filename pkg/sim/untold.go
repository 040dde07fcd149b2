package sim

import (
	"io"
	"net"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Untold is the class of an opaque system whose kind is reconciled by default, without
// managed.WithStrictCreateErrors: an error of Create that does not say whether anything was created is a
// failure. An answer that such an error hides leads to a second resource, which nobody can prevent there.
const untold = "opaque-default"

// In these scenarios it is tried. The others differ in what comes after a creation.
var untoldIn = []string{"create", "delete", "delete-during-create", "made-again"}

// The errors by which LostTold says that something may have been created.
var toldErrors = []func(operation, *process) error{
	func(o operation, p *process) error {
		return errors.Wrap(kerrors.NewInternalError(o.failure(p)), "cannot create")
	},
	func(o operation, p *process) error {
		return errors.Wrap(&net.OpError{Op: "read", Net: "tcp", Err: io.ErrUnexpectedEOF}, o.blab(p))
	},
	func(o operation, p *process) error { return external.MaybeCreated(o.failure(p)) },
}

// lostTold is the error of a Create whose answer is lost, which says so.
func (o operation) lostTold(p *process, f Fault) error {
	return toldErrors[(max(f.Writes, 1)-1)%len(toldErrors)](o, p)
}

// losesUntold exempts what a Create made whose answer is lost behind an error that does not say so, where
// such an error is a failure.
func (w *World) losesUntold(o operation) {
	if o.name == "Create" && w.untold() {
		w.exemptions.add(Lost, o.mg)
	}
}

func (w *World) untold() bool { return w.harbour != nil && w.harbour.class.name == untold }

// What takes the answer of a Create from a process that lives, so that the object may be blocked: what the
// error says, or that there is none.
var (
	takesAnswer = []Kind{Hang, HangAfter, LostTold, Conflict, Panics, PanicsAfter, Deaf}
	saysNeither = []Kind{Lost, Fail, Throttle, ExternalOut}
)

// mayBlock says whether a fault at a Create may block the object. An error that says neither must not where
// it is a failure.
func (w *World) mayBlock(k Kind) bool {
	return slices.Contains(takesAnswer, k) || slices.Contains(saysNeither, k) && !w.untold()
}

// leftUntold says whether something is left over of which an error did not say that it may have been created.
func (w *World) leftUntold() bool { return slices.Contains(w.exemptions.used(), Lost) }
