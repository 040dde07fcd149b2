package systemtest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/pagetest"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The page that shows how to ask, and the heading of the section.
const (
	whyPage    = "../../docs/conditions-and-events.md"
	whyHeading = "## Ask why an object is as it is"
)

// answering starts a provider of volumes and snapshots, and returns its namespace.
func answering(t *testing.T) string {
	t.Helper()
	in := namespace(t, api)
	o := stories.ManagerOptions(scheme)
	o.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{in: {}}}
	m, err := manager.New(config, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []resource.ManagedKind{volume.Kind, volume.SnapshotKind} {
		if err := managed.Setup(m, kind, controller.Options{}, managed.WithExternalConnecter(&volume.Cloud{}),
			managed.WithPollInterval(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return in
}

// makeReady creates an object, and waits until it is Ready.
func makeReady(t *testing.T, o resource.Managed) {
	t.Helper()
	if err := api.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	stories.Eventually(t, o.GetName()+" is Ready", func() bool {
		return api.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil &&
			o.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	})
}

// TestAskWhy runs the commands of the page that ask why an object is as it is, without kubectl, and with kubectl if
// the machine has it.
func TestAskWhy(t *testing.T) {
	in := answering(t)
	with := map[string]func(command string) (string, error){
		"stand-in": func(command string) (string, error) {
			return pagetest.Kubectl{Client: api, Namespace: in}.Run(t.Context(), command)
		},
	}
	if _, err := exec.LookPath("kubectl"); err == nil {
		with["kubectl"] = func(command string) (string, error) {
			command = strings.Replace(command, "kubectl ", "kubectl --namespace="+in+" ", 1)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()

			return string(out), err
		}
	}
	for name, run := range with {
		commands, err := pagetest.Commands(whyPage, whyHeading, "volume data", "volume "+name, "volume/data",
			"volume/"+name)
		if err != nil {
			t.Fatal(err)
		}
		makeReady(t, stories.NewVolume(in, name))
		for i, command := range commands {
			answer := "Handled the request for a reconcile: Keep."
			stories.Eventually(t, command, func() bool {
				out, err := run(command)
				if err != nil {
					t.Fatalf("%s: %v: %s", command, err, out)
				}

				return i < len(commands)-1 || strings.Contains(out, answer)
			})
		}
	}
}

// answers returns the requests that the answers about an object name, in the order of their times.
func answers(t *testing.T, about client.Object) []string {
	t.Helper()
	list := &eventsv1.EventList{}
	if err := api.List(t.Context(), list, client.InNamespace(about.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var requests []string
	for _, e := range list.Items {
		if e.Reason == "ReconcileRequestHandled" && e.Regarding.UID == about.GetUID() {
			requests = append(requests, e.Annotations[meta.AnnotationKeyReconcileRequestedAt])
		}
	}

	return requests
}

// TestEachRequestIsAnswered verifies that a user who asks again gets an event of its own each time, with the same
// text: client-go does not count it as a repetition. One of the kinds cannot store the last handled request.
func TestEachRequestIsAnswered(t *testing.T) {
	in := answering(t)
	of := metav1.ObjectMeta{Namespace: in, Name: "asked"}
	for _, o := range []resource.Managed{
		&volume.Volume{ObjectMeta: of, Spec: volume.Spec{SizeGiB: 1}},
		&volume.Snapshot{ObjectMeta: of, Spec: volume.SnapshotSpec{SizeGiB: 1, Volume: "vol-0"}},
	} {
		makeReady(t, o)
		var asked []string
		for _, request := range []string{"1", "2", "3"} {
			before := o.DeepCopyObject().(client.Object) // a copy of an object is one
			meta.AddAnnotations(o, map[string]string{meta.AnnotationKeyReconcileRequestedAt: request})
			if err := api.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			asked = append(asked, request)
			stories.Eventually(t, "an answer to request "+request, func() bool {
				return slices.Equal(answers(t, o), asked)
			})
		}
	}
}
