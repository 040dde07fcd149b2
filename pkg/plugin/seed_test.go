package plugin_test

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/clienthelper"
	"github.com/moorage-dev/moorage/pkg/hook"
	"github.com/moorage-dev/moorage/pkg/plugin"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
)

// The API that plugins use besides their syncers. A plugin compiles only if this compiles.
var (
	_ *runtime.Scheme                                                        = plugin.Scheme
	_ func() (*synccontext.RegisterContext, error)                           = plugin.Init
	_ func(plugin.Options) (*synccontext.RegisterContext, error)             = plugin.InitWithOptions
	_ func(syncer.Base) error                                                = plugin.Register
	_ func(syncer.Base)                                                      = plugin.MustRegister
	_ func() error                                                           = plugin.Start
	_ func()                                                                 = plugin.MustStart
	_ *runtime.Scheme                                                        = clienthelper.DefaultScheme
	_ func() (string, error)                                                 = clienthelper.CurrentNamespace
	_ func() (string, error)                                                 = clienthelper.CurrentPodName
	_ func(map[string][]string) map[string]authorizationv1.ExtraValue        = clienthelper.ConvertExtra
	_ func(map[string]authenticationv1.ExtraValue) map[string][]string       = clienthelper.ConvertExtraFrom
	_ func(runtime.Object, *runtime.Scheme) (schema.GroupVersionKind, error) = clienthelper.GVKFrom
	_ func(*runtime.Scheme) meta.RESTMapper                                  = syncertesting.NewFakeMapper

	_ func(context.Context, client.Client, runtime.Object, string, string) error = clienthelper.GetByIndex
)

// everyHook contains all hook interfaces.
type everyHook interface {
	hook.ClientHook
	hook.MutateCreateVirtual
	hook.MutateUpdateVirtual
	hook.MutateDeleteVirtual
	hook.MutateGetVirtual
	hook.MutateCreatePhysical
	hook.MutateUpdatePhysical
	hook.MutateDeletePhysical
	hook.MutateGetPhysical
}

var _ syncer.Base = everyHook(nil)
