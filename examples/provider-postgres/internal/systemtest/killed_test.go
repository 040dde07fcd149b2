package systemtest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

var (
	seed   = flag.Uint64("seed", 0, "determines the operations and when the provider is killed; 0 means a random one")
	rounds = flag.Int("rounds", 1, "after how many rounds of kills objects and server are compared")
	kills  = flag.Int("kills", 4, "how often the provider is killed in a round")
	shops  = flag.Int("shops", 3, "how many applications there are, with an object of each kind")
)

// asProvider is the variable that makes this program the provider.
const asProvider = "TEST_AS_PROVIDER"

// TestMain runs the tests, or the provider in a process that TestKilled starts. The provider ends with its standard
// input, so that it never outlives the test.
func TestMain(m *testing.M) {
	if os.Getenv(asProvider) == "" {
		os.Exit(m.Run())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	o := provider.DefaultOptions()
	o.PollInterval, o.MaxReconcileRate, o.HealthAddress, o.MetricsAddress = 5*testenv.Poll, 100, "0", "0"
	o.Logger = logr.FromSlogHandler(slog.NewJSONHandler(os.Stdout, nil))
	ctrl.SetLogger(o.Logger)
	cfg, err := ctrl.GetConfig()
	if err == nil {
		err = provider.Run(context.Background(), cfg, o)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A chaos kills the provider while users work.
type chaos struct {
	testenv.World
	random     *rand.Rand
	kubeconfig string
	log        *os.File // of all processes of the provider
	values     int      // of the last change
}

// TestKilled kills the provider with SIGKILL after a random number of its statements, again and again, while objects of
// all kinds are created, changed and deleted. Then the server has exactly what the objects ask for.
func TestKilled(t *testing.T) {
	w, ok := testenv.New(t)
	if !ok {
		return
	}
	of := *seed
	if of == 0 {
		of = rand.Uint64()
	}
	t.Logf("to run it again: -seed %d", of)
	if err := w.Server.Exec(t.Context(), "CREATE ROLE auditor"); err != nil {
		t.Fatal(err)
	}
	c := &chaos{World: w, random: rand.New(rand.NewPCG(of, 0)), kubeconfig: w.Kubeconfig(t), log: output(t)}
	for range *rounds {
		for range *kills {
			c.killed(t)
		}
		c.settled(t)
	}
	for i := range *shops {
		c.remove(t, i)
	}
	c.settled(t)
	for kind, left := range c.actual(t) {
		if len(left) > 0 {
			t.Errorf("when all objects are gone, there are %s: %v", kind, left)
		}
	}
}

// output returns a file for the output of the provider, whose end is shown if the test fails.
func output(t *testing.T) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "provider")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = file.Close()
		if text, _ := os.ReadFile(file.Name()); t.Failed() {
			t.Logf("the last output of the provider: %s", text[max(0, len(text)-8000):])
		}
	})

	return file
}

// run starts the provider, and returns a function that kills it.
func (c *chaos) run(t *testing.T) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(self)
	process.Env = append(os.Environ(), asProvider+"=1", "KUBECONFIG="+c.kubeconfig)
	process.Stdout, process.Stderr = c.log, c.log
	if _, err := process.StdinPipe(); err != nil { // it closes with this process
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}

	return func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
}

// killed lets users work and the provider send some statements, and kills it then.
func (c *chaos) killed(t *testing.T) {
	t.Helper()
	until := c.sent(t) + 1 + c.random.IntN(60**shops)
	kill := c.run(t)
	defer kill()
	for range 2 {
		c.work(t)
	}
	c.Until(t, "the provider has sent its statements, or has nothing to do", func() bool {
		return c.sent(t) >= until || c.empty(t)
	})
}

// empty reports whether there is no object.
func (c *chaos) empty(t *testing.T) bool {
	t.Helper()
	for i := range *shops {
		if len(c.stored(t, i)) > 0 {
			return false
		}
	}

	return true
}

// sent returns how many statements the server has got from the provider.
func (c *chaos) sent(t *testing.T) int {
	t.Helper()
	text, err := c.Server.Log()
	if err != nil {
		t.Fatal(err)
	}

	return strings.Count(text, "\n"+pgserver.Provider+": LOG:  ")
}

// shop returns the objects of an application.
func (c *chaos) shop(i int) []resource.Managed {
	m := metav1.ObjectMeta{Namespace: c.Namespace, Name: fmt.Sprintf("shop-%d", i)}
	ref := &commonv1.NamespacedReference{Name: m.Name}
	role := &v1alpha1.Role{ObjectMeta: m}
	role.Spec.WriteConnectionSecretToRef = &v1alpha1.SecretReference{Name: m.Name}
	database := &v1alpha1.Database{ObjectMeta: m}
	database.Spec.ForProvider.OwnerRef = ref
	schema := &v1alpha1.Schema{ObjectMeta: m}
	schema.Spec.ForProvider = v1alpha1.SchemaParameters{DatabaseRef: ref, OwnerRef: ref}
	grant := &v1alpha1.Grant{ObjectMeta: m}
	grant.Spec.ForProvider = v1alpha1.GrantParameters{
		DatabaseRef: ref, Role: new("auditor"), Privileges: []v1alpha1.Privilege{"CONNECT"},
	}

	return []resource.Managed{role, database, schema, grant}
}

// stored returns the objects of an application that exist.
func (c *chaos) stored(t *testing.T, i int) []resource.Managed {
	t.Helper()
	var out []resource.Managed
	for _, mg := range c.shop(i) {
		switch err := c.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg); {
		case err == nil:
			out = append(out, mg)
		case resource.IgnoreNotFound(err) != nil:
			t.Fatal(err)
		}
	}

	return out
}

// work creates an application of which nothing is left, or changes or deletes one.
func (c *chaos) work(t *testing.T) {
	t.Helper()
	i := c.random.IntN(*shops)
	has := c.stored(t, i)
	switch {
	case len(has) == 0:
		for _, mg := range c.shop(i) {
			create(t, c.World, mg)
		}
	case c.random.IntN(3) == 0:
		c.remove(t, i)
	default:
		for _, mg := range has {
			c.change(t, mg)
		}
	}
}

// remove deletes the objects of an application.
func (c *chaos) remove(t *testing.T, i int) {
	t.Helper()
	for _, mg := range c.stored(t, i) {
		if err := c.Kube.Delete(t.Context(), mg); resource.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// change gives an object another value. A schema has nothing that could be changed here.
func (c *chaos) change(t *testing.T, mg resource.Managed) {
	t.Helper()
	patch := ctrlclient.MergeFrom(mg.DeepCopyObject().(ctrlclient.Object))
	c.values++
	switch mg := mg.(type) {
	case *v1alpha1.Role:
		mg.Spec.ForProvider.ConnectionLimit = new(int32(c.values))
		mg.Spec.ForProvider.PasswordRotation = fmt.Sprint(c.values)
	case *v1alpha1.Database:
		mg.Spec.ForProvider.ConnectionLimit = new(int32(c.values))
	case *v1alpha1.Grant:
		mg.Spec.ForProvider.Privileges = [][]v1alpha1.Privilege{{"CONNECT"}, {"CREATE", "TEMPORARY"}}[c.values%2]
	}
	if err := c.Kube.Patch(t.Context(), mg, patch); resource.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// settles reports whether all objects of an application are as desired, or gone.
func (c *chaos) settles(t *testing.T, i int) bool {
	t.Helper()
	for _, mg := range c.stored(t, i) {
		ready := mg.GetCondition(commonv1.TypeReady)
		if meta.WasDeleted(mg) || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != mg.GetGeneration() ||
			mg.GetCondition(commonv1.TypeSynced).Status != metav1.ConditionTrue {
			return false
		}
	}

	return true
}
