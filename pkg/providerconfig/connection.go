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

// Reasons of the events that report the state of the connection of a configuration.
const (
	ReasonConnected    event.Reason = "Connected"
	ReasonThrottled    event.Reason = "ConnectionThrottled"
	ReasonUnavailable  event.Reason = "ConnectionUnavailable"
	ReasonUnauthorized event.Reason = "ConnectionUnauthorized"
)

// WithLimits reports the state of connections in the condition Connected of their configurations, and in events.
// Objects that share a connection cause only one report. The argument set is the limit.Set that is passed to
// managed.WithLimits. The name of each connection in this set consists of the kind, namespace and name of a
// configuration, such as "ProviderConfig/default/prod". By default the state of connections is not reported.
func WithLimits(set *limit.Set) Option { return func(o *options) { o.limits = set } }

// A connectionReport determines how a state of a connection is reported.
type connectionReport struct {
	status    metav1.ConditionStatus
	condition commonv1.ConditionReason
	event     event.Reason
	kind      event.Type
	message   string
}

// connectionReports holds the report for each reason of a state.
var connectionReports = map[string]connectionReport{
	limit.ReasonAvailable: {
		metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ReasonConnected, event.TypeNormal,
		"the connection is available",
	},
	limit.ReasonThrottled: {
		metav1.ConditionTrue, commonv1.ReasonConnectionThrottled, ReasonThrottled, event.TypeWarning,
		"the external system throttles calls: the provider limits their rate, calls for users and deletions come first",
	},
	limit.ReasonUnavailable: {
		metav1.ConditionFalse, commonv1.ReasonConnectionUnavailable, ReasonUnavailable, event.TypeWarning,
		"the external system is unavailable: the provider probes it with single calls",
	},
	limit.ReasonUnauthorized: {
		metav1.ConditionFalse, commonv1.ReasonConnectionUnauthorized, ReasonUnauthorized, event.TypeWarning,
		"the external system rejects the credentials: correct the Secret; the provider probes it with single calls",
	},
}

// unhealthyInterval is the time until the next reconcile while a connection is not available. It is needed because the
// limit.Set does not report that a connection is available again while there are no calls.
const unhealthyInterval = time.Minute

// connection returns the name of the connection of a configuration.
func (k key) connection() string {
	if k.namespace == "" {
		return k.kind + "/" + k.name
	}

	return k.kind + "/" + k.namespace + "/" + k.name
}

// connectionSource returns a source that enqueues the configurations of the kind whose
// connections change.
func (r *reconciler) connectionSource() source.Source {
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

// configOf returns the name of the configuration to which a connection belongs. It returns false if the configuration
// is of another kind.
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

// describeConnection sets the condition Connected of config. If the state has changed, it returns the event to record.
// If the connection was always available, it sets no condition. A condition that an earlier process has stored stays
// until the external system has answered this process.
func (r *reconciler) describeConnection(config Config, k key, known *record) *event.Event {
	conditioned, ok := config.(resource.Conditioned)
	if !ok || r.limits == nil {
		return nil
	}
	state, used := r.limits.State(k.connection())
	report, reported := connectionReports[state.Reason]
	old := conditioned.GetCondition(commonv1.TypeConnected)
	previous := old.Reason
	if previous == "" {
		previous = commonv1.ReasonConnectionAvailable
	}
	unknown := !used || state.Reason == limit.ReasonAvailable && !state.Answered
	if unknown || !reported || previous == report.condition || known.connection == report.condition {
		return nil
	}
	message := report.message
	if state.Message != "" {
		message += "; last error: " + state.Message
	}
	conditioned.SetConditions(commonv1.Condition{
		Type: commonv1.TypeConnected, Status: report.status, Reason: report.condition, Message: message,
		LastTransitionTime: metav1.NewTime(r.clock.Now()), ObservedGeneration: config.GetGeneration(),
	})

	return &event.Event{Type: report.kind, Reason: report.event, Message: message, Action: "Connect"}
}

// resyncAfter returns the time until the next reconcile of a configuration if no event occurs.
func (r *reconciler) resyncAfter(config Config) time.Duration {
	if c := connectionReason(config); r.limits != nil && c != "" && c != commonv1.ReasonConnectionAvailable {
		return unhealthyInterval
	}

	return resyncInterval
}

// connectionReason returns the reason of the condition Connected, or "" if there is no condition.
func connectionReason(config Config) commonv1.ConditionReason {
	conditioned, ok := config.(resource.Conditioned)
	if !ok {
		return ""
	}

	return conditioned.GetCondition(commonv1.TypeConnected).Reason
}
