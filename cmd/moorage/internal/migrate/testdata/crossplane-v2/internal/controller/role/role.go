// Package role has the controller of the kind Role.
package role

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"

	"example.org/provider-role/apis/v1alpha1"
	"example.org/provider-role/internal/sql"
)

const (
	errNotRole      = "managed resource is not a Role"
	errTrackPCUsage = "cannot track ProviderConfig usage"
	errGetPC        = "cannot get ProviderConfig"
	errGetCreds     = "cannot get credentials"
)

// SetupGated adds the controller when its CRD is there.
func SetupGated(mgr ctrl.Manager, o controller.Options) error {
	o.Gate.Register(func() {
		if err := Setup(mgr, o); err != nil {
			mgr.GetLogger().Error(err, "unable to setup reconciler")
		}
	}, v1alpha1.RoleGroupVersionKind)

	return nil
}

// Setup adds the controller.
func Setup(mgr ctrl.Manager, o controller.Options) error {
	return SetupWith(mgr, o, &sql.Server{})
}

// SetupWith adds the controller of a server.
func SetupWith(mgr ctrl.Manager, o controller.Options, server *sql.Server) error {
	name := managed.ControllerName(v1alpha1.RoleGroupVersionKind.GroupKind().String())

	opts := Options(mgr, o, server)

	if o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		opts = append(opts, managed.WithManagementPolicies())
	}

	if o.Features.Enabled(feature.EnableAlphaChangeLogs) {
		opts = append(opts, managed.WithChangeLogger(o.ChangeLogOptions.ChangeLogger))
	}

	if o.MetricOptions != nil {
		opts = append(opts, managed.WithMetricRecorder(o.MetricOptions.MRMetrics))
	}

	if o.MetricOptions != nil && o.MetricOptions.MRStateMetrics != nil {
		stateMetricsRecorder := statemetrics.NewMRStateRecorder(
			mgr.GetClient(), o.Logger, o.MetricOptions.MRStateMetrics, &v1alpha1.RoleList{}, o.MetricOptions.PollStateMetricInterval,
		)
		if err := mgr.Add(stateMetricsRecorder); err != nil {
			return errors.Wrap(err, "cannot register MR state metrics recorder for kind v1alpha1.RoleList")
		}
	}

	r := managed.NewReconciler(mgr, resource.ManagedKind(v1alpha1.RoleGroupVersionKind), opts...)

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		WithEventFilter(resource.DesiredStateChanged()).
		For(&v1alpha1.Role{}).
		Complete(ratelimiter.NewReconciler(name, errors.WithSilentRequeueOnConflict(r), o.GlobalRateLimiter))
}

// Options returns those of the reconciler.
func Options(mgr ctrl.Manager, o controller.Options, server *sql.Server) []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithExternalConnector(&connector{
			kube:   mgr.GetClient(),
			usage:  resource.NewProviderConfigUsageTracker(mgr.GetClient(), &v1alpha1.ProviderConfigUsage{}),
			server: server,
		}),
		managed.WithLogger(o.Logger.WithValues("controller", "role")),
		managed.WithPollInterval(o.PollInterval),
		managed.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor("role"))),
	}
}

type connector struct {
	kube   client.Client
	usage  *resource.ProviderConfigUsageTracker
	server *sql.Server
}

func (c *connector) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	cr, ok := mg.(*v1alpha1.Role)
	if !ok {
		return nil, errors.New(errNotRole)
	}

	if err := c.usage.Track(ctx, cr); err != nil {
		return nil, errors.Wrap(err, errTrackPCUsage)
	}

	m := mg.(resource.ModernManaged)
	pc := &v1alpha1.ProviderConfig{}

	if err := c.kube.Get(ctx, types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetProviderConfigReference().Name}, pc); err != nil {
		return nil, errors.Wrap(err, errGetPC)
	}

	cd := pc.Spec.Credentials
	if _, err := resource.CommonCredentialExtractor(ctx, cd.Source, c.kube, cd.CommonCredentialSelectors); err != nil {
		return nil, errors.Wrap(err, errGetCreds)
	}

	return &external{server: c.server}, nil
}

type external struct {
	server *sql.Server
}

func (c *external) Disconnect(context.Context) error { return nil }

func (c *external) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	cr, ok := mg.(*v1alpha1.Role)
	if !ok {
		return managed.ExternalObservation{}, errors.New(errNotRole)
	}

	limit, ok := c.server.Roles[meta.GetExternalName(cr)]
	if !ok {
		return managed.ExternalObservation{ResourceExists: false}, nil
	}

	cr.SetConditions(xpv1.Available())

	return managed.ExternalObservation{
		ResourceExists:    true,
		ResourceUpToDate:  cr.Spec.ForProvider.Limit == nil || *cr.Spec.ForProvider.Limit == limit,
		ConnectionDetails: managed.ConnectionDetails{},
	}, nil
}

func (c *external) Create(_ context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	cr, ok := mg.(*v1alpha1.Role)
	if !ok {
		return managed.ExternalCreation{}, errors.New(errNotRole)
	}

	cr.SetConditions(xpv1.Creating())
	password := c.server.Put(meta.GetExternalName(cr), 0)

	return managed.ExternalCreation{
		ConnectionDetails: managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretUserKey:     []byte(meta.GetExternalName(cr)),
			xpv1.ResourceCredentialsSecretPasswordKey: []byte(password),
		},
		AdditionalDetails: managed.AdditionalDetails{"limit": "0"},
	}, nil
}

func (c *external) Update(_ context.Context, mg resource.Managed) (managed.ExternalUpdate, error) {
	cr, ok := mg.(*v1alpha1.Role)
	if !ok {
		return managed.ExternalUpdate{}, errors.New(errNotRole)
	}

	c.server.Put(meta.GetExternalName(cr), *cr.Spec.ForProvider.Limit)

	return managed.ExternalUpdate{}, nil
}

func (c *external) Delete(_ context.Context, mg resource.Managed) (managed.ExternalDelete, error) {
	mg.SetConditions(xpv1.Deleting())
	delete(c.server.Roles, meta.GetExternalName(mg))

	return managed.ExternalDelete{}, nil
}
