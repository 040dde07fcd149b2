package managed

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/conditions"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// withoutStatus returns the error of a status write that was answered with NotFound although the object exists. If
// the answer names the object, its kind has no status subresource.
func (p *object) withoutStatus(err error) error {
	if !gone.Named(err) {
		return err
	}
	namespaces := schema.GroupResource{Resource: "namespaces"}
	if !gone.Answered(err, p.mg.GetName()) || gone.Answered(err, p.mg.GetNamespace(), namespaces) {
		var answer *kerrors.StatusError
		if errors.As(err, &answer) {
			err = answer // the wrapping text is about the object
		}

		return errors.Wrap(err, "the object is there, and something else that its status cannot be written without is not: "+
			"create what the answer names, or check the admission webhooks if one of them has answered")
	}

	return errors.Wrapf(err, "the CustomResourceDefinition of the kind %s lacks the subresource status: "+
		"add the marker +kubebuilder:subresource:status to its Go type, generate the definition, and apply it",
		p.r.of.Kind)
}

// warnUnwritableStatus logs once that the status cannot be written although the object exists, or that no condition
// of it is stored: no condition can report that.
func (p *object) warnUnwritableStatus(err error) {
	text := ""
	switch {
	case err != nil:
		if gone.Named(err) || gone.Unserved(err) {
			text = p.redact(err).Error()
		}
	case p.state.Dropped.Times == 0:
	case p.conditionless():
		text = "the API server stores no conditions, because the CustomResourceDefinition of the kind " + p.r.of.Kind +
			" has no field status.conditions: embed the ConditionedStatus of apis/common/v1 in the status of its Go type, " +
			"generate the definition, and apply it"
	default:
		lost := lostFields(p.mg, p.newest)
		if len(lost) == 1 && lost[0] == stampField && p.r.pruned.stampReported.Swap(true) {
			lost = nil // nothing else depends on it
		}
		if len(lost) > 0 {
			text = "the API server does not store " + strings.Join(lost, ", ") +
				", because the CustomResourceDefinition of the kind " + p.r.of.Kind +
				" lacks that: use the Condition of apis/common/v1 in its Go type, generate the definition, and apply it; " +
				"nothing else is held up"
		}
	}
	if text != "" && text != p.state.LastStatusErr {
		p.recordEvent(event.Warning(reasonCannotUpdateManaged,
			errors.New("cannot update managed resource status: "+text)))
	}
	p.state.LastStatusErr = text
}

// conditionless reports whether the API server accepts the status but stores no condition.
func (p *object) conditionless() bool {
	return p.mg.GetCondition(commonv1.TypeSynced).Reason != "" && isAbsent(p.newest.GetCondition(commonv1.TypeSynced))
}

// prunedFields has the fields that were logged as unknown to the CRD of the kind.
type prunedFields struct {
	mu            sync.Mutex
	said          bool
	stampReported atomic.Bool // an object has reported that its conditions are not stamped
}

func (p *object) logPruned(desired objectjson.Status, answer resource.Managed) {
	p.r.pruned.mu.Lock()
	defer p.r.pruned.mu.Unlock()
	stored, err := objectjson.StatusOf(answer)
	if p.r.pruned.said || err != nil {
		return
	}
	fields := mergepatch.Missing(desired.Fields, stored.Fields, "status.")
	lost := lostFields(&commonv1.ConditionedStatus{Conditions: desired.Conditions},
		&commonv1.ConditionedStatus{Conditions: stored.Conditions})
	if len(desired.Conditions) > 0 && len(stored.Conditions) == 0 {
		lost = []string{"status.conditions"}
	}
	fields = append(fields, lost...)
	if p.r.pruned.said = len(fields) > 0; !p.r.pruned.said { // another cause changes the stored status
		return
	}
	p.log().Info("The API server drops fields of the status: the CRD of this kind is older than the provider; apply "+
		"its newer version",
		"kind", p.r.of.Kind, "fields", strings.Join(slices.Sorted(slices.Values(fields)), ", "))
}

// stampField is the condition field that definitions of other runtimes lack.
const stampField = "status.conditions[].observedGeneration"

// lostFields returns the fields of conditions that are set in says and stored in none of the conditions of stored.
func lostFields(says, stored conditions.Conditioned) (fields []string) {
	var lost, kept [4]bool
	for _, t := range ownTypes {
		want, got := says.GetCondition(t), stored.GetCondition(t)
		if want.Reason == "" || isAbsent(got) {
			continue
		}
		for i, field := range [...][2]bool{
			{want.Status != "", got.Status != ""}, {true, got.Reason != ""},
			{want.Message != "", got.Message != ""}, {want.ObservedGeneration != 0, got.ObservedGeneration != 0},
		} {
			lost[i] = lost[i] || field[0] && !field[1]
			kept[i] = kept[i] || field[1]
		}
	}
	for i, name := range [...]string{"status.conditions[].status", "status.conditions[].reason",
		"status.conditions[].message", stampField} {
		if lost[i] && !kept[i] {
			fields = append(fields, name)
		}
	}

	return fields
}

// isAbsent distinguishes a condition that the object does not have from one that was stored in part.
func isAbsent(c commonv1.Condition) bool {
	return c.Reason == "" && c.Status == metav1.ConditionUnknown && c.LastTransitionTime.IsZero()
}
