package managed

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// changeFacts are what the cause of a change depends on.
type changeFacts struct {
	operation changelog.Operation
	drift     telemetry.Finding // that the metrics have counted, and that no earlier change has answered
	repeated  bool              // the operation was tried for this generation before, and its effect was not observed
}

// causeOf returns why the reconciler makes a change. A counted drift takes precedence, so that the causes drift and
// missing agree with the metric.
func causeOf(f changeFacts) changelog.Cause {
	switch {
	case f.operation == changelog.OperationCreate && f.drift == telemetry.Missing:
		return changelog.CauseMissing
	case f.operation == changelog.OperationUpdate && f.drift == telemetry.Differs:
		return changelog.CauseDrift
	case f.repeated:
		return changelog.CauseRetry
	case f.operation == changelog.OperationCreate:
		return changelog.CauseCreated
	case f.operation == changelog.OperationDelete:
		return changelog.CauseDeleted
	default:
		return changelog.CauseSpec
	}
}

// changedBy are the calls of the operations.
var changedBy = map[changelog.Operation]telemetry.Step{
	changelog.OperationCreate: telemetry.Create,
	changelog.OperationUpdate: telemetry.Update,
	changelog.OperationDelete: telemetry.Delete,
}

// changeFacts returns the facts about a change that is about to be made, and remembers the change.
func (p *creationRecord) changeFacts(operation changelog.Operation) changeFacts {
	drift, again := p.state.counted.Changing(changedBy[operation], p.generation)

	return changeFacts{operation: operation, drift: drift, repeated: again || p.triedBefore(operation)}
}

// triedBefore reports whether the object records that the operation was tried for this generation. The record may be
// that of an earlier process.
func (p *creationRecord) triedBefore(operation changelog.Operation) bool {
	recorded := func(t commonv1.ConditionType, reasons ...commonv1.ConditionReason) bool {
		c := p.read.GetCondition(t)

		return c.Status == metav1.ConditionFalse && c.ObservedGeneration == p.generation &&
			(len(reasons) == 0 || slices.Contains(reasons, c.Reason))
	}
	switch operation {
	case changelog.OperationUpdate:
		return recorded(commonv1.TypeUpToDate, commonv1.ReasonUpdateFailed, commonv1.ReasonUpdateRequested)
	case changelog.OperationCreate:
		_, result := attempt.Of(p.read)

		return p.repeatsAttempt || result == attempt.Failed && recorded(commonv1.TypeSynced)
	default:
		return false
	}
}
