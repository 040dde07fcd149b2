// Package role has the controller of the kind Role.
package role

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/crossplane/crossplane-runtime/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/pkg/controller"
	"github.com/crossplane/crossplane-runtime/pkg/errors"
	"github.com/crossplane/crossplane-runtime/pkg/event"
	"github.com/crossplane/crossplane-runtime/pkg/feature"
	"github.com/crossplane/crossplane-runtime/pkg/meta"
	"github.com/crossplane/crossplane-runtime/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/pkg/resource"

	"example.org/provider-role/apis/v1alpha1"
	"example.org/provider-role/internal/sql"
)

const (
	errNotRole      = "managed resource is not a Role"
	errTrackPCUsage = "cannot track ProviderConfig usage"
	errGetPC        = "cannot get ProviderConfig"
	errGetCreds     = "cannot get credentials"
)

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

	r := managed.NewReconciler(mgr, resource.ManagedKind(v1alpha1.RoleGroupVersionKind), opts...)

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		WithEventFilter(resource.DesiredStateChanged()).
		For(&v1alpha1.Role{}).
		Complete(ratelimiter.NewReconciler(name, r, o.GlobalRateLimiter))
}

// Options returns those of the reconciler.
func Options(mgr ctrl.Manager, o controller.Options, server *sql.Server) []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithExternalConnecter(&connector{
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
	usage  resource.Tracker
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

	pc := &v1alpha1.ProviderConfig{}

	if err := c.kube.Get(ctx, types.NamespacedName{Name: cr.GetProviderConfigReference().Name}, pc); err != nil {
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

func (c *external) Delete(_ context.Context, mg resource.Managed) error {
	mg.SetConditions(xpv1.Deleting())
	delete(c.server.Roles, meta.GetExternalName(mg))

	return nil
}
