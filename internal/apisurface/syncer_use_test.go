package apisurface

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/log"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A program that uses every name of syncer.golden, as a plugin would. If it does not compile,
// neither does such a plugin. TestEveryNameIsUsed checks that no name is left out.

// Package syncer.

var _ func(*synccontext.SyncContext, client.Object) (ctrl.Result, error) = syncer.DeleteObject
var _ func(*synccontext.RegisterContext, syncer.FakeSyncer) error = syncer.RegisterFakeSyncer
var _ func(*synccontext.RegisterContext, syncer.Syncer) error = syncer.RegisterSyncer

// plugin implements everything that can be registered.
type plugin struct {
	translator.NamespacedTranslator
}

var (
	_ syncer.Base               = plugin{}
	_ syncer.Syncer             = plugin{}
	_ syncer.UpSyncer           = plugin{}
	_ syncer.FakeSyncer         = plugin{}
	_ syncer.Starter            = plugin{}
	_ syncer.Initializer        = plugin{}
	_ syncer.IndicesRegisterer  = plugin{}
	_ syncer.ControllerModifier = plugin{}
	_ syncer.ControllerStarter  = plugin{}
)

func (plugin) SyncDown(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (plugin) Sync(*synccontext.SyncContext, client.Object, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (plugin) SyncUp(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (plugin) FakeSyncUp(*synccontext.SyncContext, types.NamespacedName) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (plugin) FakeSync(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (plugin) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) { return false, nil }

func (plugin) ReconcileEnd() {}

func (plugin) Init(*synccontext.RegisterContext) error { return nil }

func (plugin) ModifyController(_ *synccontext.RegisterContext, b *builder.Builder) (*builder.Builder, error) {
	return b, nil
}

func (plugin) Register(*synccontext.RegisterContext) error { return nil }

// Package context.

var (
	_ context.Context                    = synccontext.SyncContext{}.Context
	_ log.Logger                         = synccontext.SyncContext{}.Log
	_ string                             = synccontext.SyncContext{}.TargetNamespace
	_ client.Client                      = synccontext.SyncContext{}.PhysicalClient
	_ client.Client                      = synccontext.SyncContext{}.VirtualClient
	_ string                             = synccontext.SyncContext{}.CurrentNamespace
	_ client.Client                      = synccontext.SyncContext{}.CurrentNamespaceClient
	_ context.Context                    = synccontext.RegisterContext{}.Context
	_ *synccontext.VirtualClusterOptions = synccontext.RegisterContext{}.Options
	_ client.Client                      = synccontext.RegisterContext{}.CurrentNamespaceClient
	_ ctrl.Manager                       = synccontext.RegisterContext{}.VirtualManager
	_ ctrl.Manager                       = synccontext.RegisterContext{}.PhysicalManager
	_ clientcmd.ClientConfig             = synccontext.RegisterContext{}.SyncerConfig
	_                                    = synccontext.VirtualClusterOptions{
		Name: "a", ServiceName: "a", TargetNamespace: "b", SetOwner: true,
	}
)

var _ func(*synccontext.RegisterContext, string) *synccontext.SyncContext = synccontext.ConvertContext

// Package log.

var _ func(log.Logger) logr.Logger = log.Logger.Base
var _ func(string) log.Logger = log.New
var _ func(logr.Logger, string) log.Logger = log.NewFromExisting
var _ func() log.Logger = log.NewWithoutName

// Package translator.

var _ translator.NameTranslator = translator.Translator(nil)
var _ translator.MetadataTranslator = translator.Translator(nil)
var _ func(translator.NamespacedTranslator) record.EventRecorder = translator.NamespacedTranslator.EventRecorder
var _ func(*synccontext.RegisterContext, string, client.Object,
	...string) translator.NamespacedTranslator = translator.NewNamespacedTranslator
var _ func(*synccontext.RegisterContext, string, client.Object, translator.PhysicalNameTranslator,
	...string) translator.Translator = translator.NewClusterTranslator
var _ func(string, client.Object) translator.Translator = translator.NewMirrorPhysicalTranslator
var _ translator.PhysicalNameTranslator = translator.DefaultPhysicalName
var _ func(string, client.Object, ...string) client.Object = translator.TranslateMetadata
var _ func(
	client.Object, client.Object, ...string,
) (bool, map[string]string, map[string]string) = translator.TranslateMetadataUpdate
var _ func(metav1.Object) = translator.ResetObjectMetadata
var _ func(string) string = translator.ConvertLabelKey
var _ func(string, string) string = translator.ConvertLabelKeyWithPrefix
var _ func(runtime.Object) string = translator.ObjectPhysicalName
var _ func(*metav1.LabelSelector) *metav1.LabelSelector = translator.TranslateLabelSelector
var _ func(string, *metav1.LabelSelector) *metav1.LabelSelector = translator.TranslateLabelSelectorWithPrefix
var _ func(string, *metav1.LabelSelector) *metav1.LabelSelector = translator.TranslateLabelSelectorCluster
var _ func(...*metav1.LabelSelector) *metav1.LabelSelector = translator.MergeLabelSelectors
var _ func([]string) []string = translator.UniqueSlice
var _ func(string, string) (string, string) = translator.Split
var _ = client.MatchingFields{translator.IndexByPhysicalName: "a"}
var _ = []string{translator.ManagedAnnotationsAnnotation, translator.NameAnnotation, translator.NamespaceAnnotation}

// Package testing.

var _ = syncertesting.SyncTest{
	Name: "a", InitialPhysicalState: []runtime.Object{}, InitialVirtualState: []runtime.Object{},
	Sync:                  func(*synccontext.RegisterContext) {},
	ExpectedPhysicalState: map[schema.GroupVersionKind][]runtime.Object{},
	ExpectedVirtualState:  map[schema.GroupVersionKind][]runtime.Object{},
	Compare:               func(_, _ runtime.Object) bool { return true },
}
var _ func(*testing.T, []*syncertesting.SyncTest) = syncertesting.RunTests
var _ func(
	*testing.T, *synccontext.RegisterContext, func(*synccontext.RegisterContext) (syncer.Base, error),
) (*synccontext.SyncContext, syncer.Base) = syncertesting.FakeStartSyncer
var _ func(_, _ *syncertesting.FakeIndexClient) *synccontext.RegisterContext = syncertesting.NewFakeRegisterContext
var _ func(*runtime.Scheme, ...runtime.Object) *syncertesting.FakeIndexClient = syncertesting.NewFakeClient
var _ func() *runtime.Scheme = syncertesting.NewScheme
var _ func(*syncertesting.FakeIndexClient, context.Context, client.Object, string,
	client.IndexerFunc) error = (*syncertesting.FakeIndexClient).IndexField
var _ func(*syncertesting.FakeIndexClient, context.Context, client.ObjectList,
	...client.ListOption) error = (*syncertesting.FakeIndexClient).List

// Package translate.

var _ = []*string{&translate.NamespaceLabel, &translate.MarkerLabel, &translate.ControllerLabel, &translate.Suffix}
var _ *client.Object = &translate.Owner
var _ func(...string) string = translate.SafeConcatName
var _ func(...string) string = translate.SafeConcatGenerateName
var _ func(runtime.Object) bool = translate.IsManaged
var _ func(string, runtime.Object) bool = translate.IsManagedCluster
var _ func(string, string) string = translate.PhysicalName
var _ func(string, string) string = translate.PhysicalNameClusterScoped
var _ func(client.Object) []metav1.OwnerReference = translate.GetOwnerReference
var _ func(_ context.Context, _, _ *rest.Config,
	_ schema.GroupVersionKind) error = translate.EnsureCRDFromPhysicalCluster
var _ func(context.Context, *rest.Config, string, schema.GroupVersionKind) error = translate.EnsureCRDFromFile
var _ func(*rest.Config, schema.GroupVersionKind) (schema.GroupVersionResource, error) = translate.ConvertKindToResource
var _ func(*rest.Config, schema.GroupVersionKind) (bool, error) = translate.KindExists
