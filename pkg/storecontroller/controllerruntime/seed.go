package controllerruntime

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
)

// ControllerRuntime runs a controller whose primaries are in a store. Use
// NewControllerRuntime. Its methods may be called concurrently; Run once.
type ControllerRuntime[
	TNatsPrim IEntity,
	TNatsSec1 IEntity, TNatsSec2 IEntity, TNatsSec3 IEntity, TNatsSec4 IEntity,
	TNatsTer1 IEntity, TNatsTer2 IEntity, TNatsTer3 IEntity, TNatsTer4 IEntity,
] struct {
	runtime *Runtime[TNatsPrim]
}

// NewControllerRuntime returns a runtime. The kind is that of the primaries, as it
// stands in the marks of their secondaries. Clients that are nil are not used; the
// informers are run by whoever made them. A resync interval of 0 is none.
//
// It is kept for controllers that use it. NewRuntime takes any number of
// dependencies, and storecontroller.New gives more.
func NewControllerRuntime[
	TNatsPrim IEntity,
	TNatsSec1 IEntity, TNatsSec2 IEntity, TNatsSec3 IEntity, TNatsSec4 IEntity,
	TNatsTer1 IEntity, TNatsTer2 IEntity, TNatsTer3 IEntity, TNatsTer4 IEntity,
](
	name string,
	kind string,
	kubeClientset kubernetes.Interface,
	primaryNatsClient IEntityClient[TNatsPrim],
	secondarySharedInformers []cache.SharedIndexInformer,
	terciarySharedInformers []cache.SharedIndexInformer,
	secondaryNatsClient1 IEntityClient[TNatsSec1],
	secondaryNatsClient2 IEntityClient[TNatsSec2],
	secondaryNatsClient3 IEntityClient[TNatsSec3],
	secondaryNatsClient4 IEntityClient[TNatsSec4],
	terciaryNatsClient1 IEntityClient[TNatsTer1],
	terciaryNatsClient2 IEntityClient[TNatsTer2],
	terciaryNatsClient3 IEntityClient[TNatsTer3],
	terciaryNatsClient4 IEntityClient[TNatsTer4],
	secondaryExternalClients []IExternalClient,
	resyncInterval time.Duration,
) (
	controllerRuntime *ControllerRuntime[TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4],
) {
	deps := []Dependency{
		Secondaries(secondaryNatsClient1), Secondaries(secondaryNatsClient2), Secondaries(secondaryNatsClient3), Secondaries(secondaryNatsClient4),
		Terciaries(terciaryNatsClient1), Terciaries(terciaryNatsClient2), Terciaries(terciaryNatsClient3), Terciaries(terciaryNatsClient4),
		Informers(secondarySharedInformers...), TerciaryInformers(terciarySharedInformers...), Externals(secondaryExternalClients...),
	}

	return &ControllerRuntime[TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4]{
		NewRuntime(name, kind, kubeClientset, primaryNatsClient, resyncInterval, deps...),
	}
}

// DecomposeKubeSecondaryResource returns the object that an event handler was given,
// or the last known state of one whose deletion was missed, and the key of its
// owner, which is empty if the object is not of a primary of this kind. An error
// says that it is no object, or that its marks do not say which primary it is of.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) DecomposeKubeSecondaryResource(obj any) (secondaryResource metav1.Object, primaryKey string, err error) {
	return c.runtime.DecomposeKubeSecondaryResource(obj)
}

// EnqueueKey asks for a pass over a primary. A key that no store takes is dropped.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) EnqueueKey(key string, operation Operation) {
	c.runtime.EnqueueKey(key, operation)
}

// EnqueueKeyAfter asks for a pass over a primary when the time has passed.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) EnqueueKeyAfter(key string, operation Operation, delay time.Duration) {
	c.runtime.EnqueueKeyAfter(key, operation, delay)
}

// Event records an event about an object: one of Kubernetes, or what Reference
// returns for a primary. Without a client of Kubernetes nothing is recorded.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Event(object runtime.Object, eventtype string, reason string, message string) {
	c.runtime.Event(object, eventtype, reason, message)
}

// Reference returns what stands for a primary in Event.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Reference(key string) runtime.Object {
	return c.runtime.Reference(key)
}

// Run runs the controller until stopCh is closed. What goes wrong at the start is
// sent on errCh, and Run returns; nothing is sent after that.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	c.runtime.Run(threadiness, stopCh, errCh)
}

// SetCustomController says what to run. It is called before Run.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetCustomController(customController IController) {
	c.runtime.SetCustomController(customController)
}

// SetOwner marks an object in Kubernetes as made for the primary, which SyncHandler
// has read. See that of Runtime.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetOwner(obj metav1.Object, primary TNatsPrim) {
	c.runtime.SetOwner(obj, primary)
}

// Owner returns what marks an entity as made for the primary: put it into the
// Owners of its metadata.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Owner(primary TNatsPrim) store.Owner {
	return c.runtime.Owner(primary)
}

// SetLogger says who is told of panics, of failures, of entries that cannot be decoded
// and of primaries that were lost. It is called before Run. The default is
// controller-runtime's log.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetLogger(l logging.Logger) {
	c.runtime.SetLogger(l)
}

// Panics returns how many there were in the author's code. They are recovered from.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Panics() int {
	return c.runtime.Panics()
}

// SetTerciaryMapping says which primaries are looked at when a tertiary changes. It
// is called before Run. The default is none: tertiaries are read when a primary is
// looked at.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetTerciaryMapping(keys func(obj any) []string) {
	c.runtime.SetTerciaryMapping(keys)
}
