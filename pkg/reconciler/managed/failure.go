package managed

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
)

// A stage is a part of a pass that can fail, and how its failure is reported.
type stage struct {
	name   string
	prefix string             // put before the error
	reason event.Reason       // of the warning
	ready  commonv1.Condition // the zero value leaves it as it is
}

// Every way a pass can fail.
var (
	connecting   = &stage{"connect-failed", "connect failed", reasonCannotConnect, commonv1.Condition{}}
	initializing = &stage{"initialize-failed", "cannot initialize managed resource", reasonCannotInitialize,
		commonv1.Condition{}}
	resolving  = &stage{"resolve-failed", "cannot resolve references", reasonCannotResolve, commonv1.Condition{}}
	publishing = &stage{"publish-failed", "cannot publish connection details", reasonCannotPublish,
		commonv1.Condition{}}
	observing         = &stage{"observe-failed", "observe failed", reasonCannotObserve, commonv1.Condition{}}
	creating          = &stage{"create-failed", "create failed", reasonCannotCreate, commonv1.Creating()}
	updating          = &stage{"update-failed", "update failed", reasonCannotUpdate, commonv1.Condition{}}
	deleting          = &stage{"delete-failed", "delete failed", reasonCannotDelete, commonv1.Deleting()}
	finalizing        = &stage{"finalizer-failed", "", reasonCannotUpdateManaged, commonv1.Condition{}}
	removingFinalizer = &stage{"let-go-failed", "", reasonCannotUpdateManaged, commonv1.Deleting()}
	updatingObject    = &stage{"store-failed", "cannot update managed resource", reasonCannotUpdateManaged,
		commonv1.Condition{}}
	recordingIntent = &stage{"intent-failed", "cannot update managed resource", reasonCannotUpdateManaged,
		commonv1.Creating()}
	recording = &stage{"result-failed", "cannot update managed resource annotations",
		reasonCannotUpdateManaged, commonv1.Creating()}
	rereading = &stage{"result-failed", recording.prefix, reasonCannotUpdateManaged,
		commonv1.Condition{}} // the process that reconciles it now may have reported Ready
	unexpected = &stage{"failed", "", reasonCannotInitialize, commonv1.Condition{}}
)

// A failure is an error that knows its stage.
type failure struct {
	stage *stage
	error
}

func (f *failure) Unwrap() error { return f.error }

// failed returns err as a failure of the stage; nil stays nil.
func (s *stage) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case s.prefix == "":
		return &failure{s, err}
	default:
		return &failure{s, errors.Wrap(err, s.prefix)}
	}
}
