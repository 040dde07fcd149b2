package providerconfig

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Reasons of the events that tell what is the matter with the connection that a
// configuration describes.
const (
	ReasonConnected    event.Reason = "Connected"
	ReasonThrottled    event.Reason = "ConnectionThrottled"
	ReasonUnavailable  event.Reason = "ConnectionUnavailable"
	ReasonUnauthorized event.Reason = "ConnectionUnauthorized"
)

// WithLimits shows the state of connections in the condition Connected of their
// configurations, and tells it in events: once for all objects that share one. The
// set is that of managed.WithLimits, and the names of its connections are kind,
// namespace and name of a configuration, such as "ProviderConfig/default/prod". By
// default nothing is shown.
func WithLimits(set *limit.Set) Option { return func(o *options) { o.limits = set } }

// A look is how the state of a connection is shown.
type look struct {
	status    metav1.ConditionStatus
	condition commonv1.ConditionReason
	event     event.Reason
	kind      event.Type
	text      string
}

// Looks by the reason of a state.
var looks = map[string]look{
	limit.ReasonAvailable: {metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ReasonConnected, event.TypeNormal, "calls are let through"},
	limit.ReasonThrottled: {
		metav1.ConditionTrue, commonv1.ReasonConnectionThrottled, ReasonThrottled, event.TypeWarning,
		"the external system is asked more than it allows: calls are held to that, those of users first",
	},
	limit.ReasonUnavailable: {
		metav1.ConditionFalse, commonv1.ReasonConnectionUnavailable, ReasonUnavailable, event.TypeWarning,
		"the external system is unavailable: now and then it is tried with one call",
	},
	limit.ReasonUnauthorized: {
		metav1.ConditionFalse, commonv1.ReasonConnectionUnauthorized, ReasonUnauthorized, event.TypeWarning,
		"the external system does not accept the credentials: correct the Secret; now and then it is tried with one call",
	},
}

// lookAgain is when to look at a connection that is not well: nobody tells that it is
// if nobody calls.
const lookAgain = time.Minute

func (k key) connection() string {
	if k.namespace == "" {
		return k.kind + "/" + k.name
	}

	return k.kind + "/" + k.namespace + "/" + k.name
}

// connections hands configurations of the kind whose connections have changed to the
// controller.
func (r *reconciler) connections() source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		if r.limits == nil {
			return nil
		}
		stop := r.limits.Listen(func(s limit.State) {
			if name, ok := r.configOf(s.Name); ok {
				q.Add(reconcile.Request{NamespacedName: name})
			}
		})
		context.AfterFunc(ctx, stop)

		return nil
	})
}

// configOf returns the configuration of the kind that a connection is called after.
func (r *reconciler) configOf(connection string) (types.NamespacedName, bool) {
	parts := strings.Split(connection, "/")
	switch {
	case parts[0] != r.kind.gvk.Kind:
		return types.NamespacedName{}, false
	case r.kind.namespaced && len(parts) == 3:
		return types.NamespacedName{Namespace: parts[1], Name: parts[2]}, true
	case !r.kind.namespaced && len(parts) == 2:
		return types.NamespacedName{Name: parts[1]}, true
	default:
		return types.NamespacedName{}, false
	}
}

// describeConnection puts the state of the connection into the object, and returns
// what is to be told of it, if it is another one than before. Of a connection that
// was never anything but well nothing is said.
func (r *reconciler) describeConnection(config Config, k key, known *record) *event.Event {
	conditioned, ok := config.(resource.Conditioned)
	if !ok || r.limits == nil {
		return nil
	}
	state, used := r.limits.State(k.connection())
	shown, understood := looks[state.Reason]
	old := conditioned.GetCondition(commonv1.TypeConnected)
	said := old.Reason
	if said == "" {
		said = commonv1.ReasonConnectionAvailable
	}
	if !used || !understood || said == shown.condition || known.connection == shown.condition {
		return nil
	}
	text := shown.text
	if state.Message != "" {
		text += "; last error: " + state.Message
	}
	conditioned.SetConditions(commonv1.Condition{
		Type: commonv1.TypeConnected, Status: shown.status, Reason: shown.condition, Message: text,
		LastTransitionTime: metav1.NewTime(r.clock.Now()), ObservedGeneration: config.GetGeneration(),
	})

	return &event.Event{Type: shown.kind, Reason: shown.event, Message: text, Action: "Connect"}
}

// recheck returns when to look at a configuration if nobody asks for it.
func (r *reconciler) recheck(config Config) time.Duration {
	if c := connectionReason(config); r.limits != nil && c != "" && c != commonv1.ReasonConnectionAvailable {
		return lookAgain
	}

	return recheck
}

func connectionReason(config Config) commonv1.ConditionReason {
	conditioned, ok := config.(resource.Conditioned)
	if !ok {
		return ""
	}

	return conditioned.GetCondition(commonv1.TypeConnected).Reason
}
