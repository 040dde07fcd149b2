package devcluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// parentMode makes the test binary a process that starts a control plane and
// waits to be killed.
const parentMode = "DEVCLUSTER_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentMode) != "" {
		os.Exit(parent())
	}
	os.Exit(m.Run())
}

// parent prints the folder of the control plane it has started.
func parent() int {
	c, err := Start(context.Background(), Options{Own: true, Progress: os.Stderr})
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	os.Stdout.WriteString(c.Dir + "\n")
	select {}
}

// built ignores what the caller has set, because these tests are about the
// program that this repository builds.
func built(t *testing.T) string {
	t.Helper()
	t.Setenv(EnvKubeconfig, "")
	t.Setenv(EnvAssets, "")
	binary, err := Ensure(t.Context(), Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func started(t *testing.T, o Options) *Cluster {
	t.Helper()
	begin := time.Now()
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready in %.1f s", time.Since(begin).Seconds())
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return c
}

func clientFor(t *testing.T, config *rest.Config, err error) *kubernetes.Clientset {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func adminOf(t *testing.T, c *Cluster) *kubernetes.Clientset {
	t.Helper()
	config, err := c.RESTConfig()
	return clientFor(t, config, err)
}

// identity is what clients keep over a restart.
func identity(t *testing.T, c *Cluster) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"kubeconfig", "port", "pki/ca.crt", "pki/ca.key", "pki/server.crt", "pki/admin.crt",
		"pki/sa.key"} {
		content, err := os.ReadFile(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(content)
	}
	return out
}

func TestSameFolderIsSameCluster(t *testing.T) {
	built(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30), "with space")
	c := started(t, Options{Own: true, Dir: dir})
	admin := adminOf(t, c)
	ctx := t.Context()
	before := identity(t, c)
	configMaps := admin.CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	_, err := Start(ctx, Options{Own: true, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "in use by another devcluster") {
		t.Fatalf("second start in a live folder: %v, want a refusal", err)
	}

	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Get(ctx, "kept", metav1.GetOptions{}); err == nil || kerrors.IsNotFound(err) {
		t.Fatalf("after Kill: %v, want no answer", err)
	}
	if err := c.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("after Kill and Restart, with the same client: %v", err)
	}

	if err := c.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	again := started(t, Options{Own: true, Dir: dir, Durable: true})
	if _, err := configMaps.Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("after Stop and Start, with the same client: %v", err)
	}
	if diff := cmp.Diff(before, identity(t, again)); diff != "" {
		t.Errorf("certificates and port: -before, +after:\n%s", diff)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode of the folder %o, want 700: it holds the authority's key", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.sock")); len(left) > 0 {
		t.Errorf("sockets %q at paths that are too long for them", left)
	}
}

func TestStopRemovesTemporaryFolder(t *testing.T) {
	built(t)
	c := started(t, Options{Own: true})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary folder after Stop: %v, want none", err)
	}
	if err := c.Restart(t.Context()); err == nil {
		t.Error("restarted after Stop")
	}
}

func TestUserMayDoWhatRBACGrants(t *testing.T) {
	built(t)
	c := Shared(t)
	ctx := t.Context()
	admin := adminOf(t, c)
	ns := namespace(t, admin)
	config, err := c.UserConfig(ctx, "jane", "admin "+ns)
	jane := clientFor(t, config, err)

	if _, err := jane.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{}); !kerrors.IsForbidden(err) {
		t.Fatalf("without a role: %v, want forbidden", err)
	}
	_, err = admin.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = admin.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "admin " + ns}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the granted list is allowed", func() bool {
		_, err := jane.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if err := jane.CoreV1().Secrets(ns).Delete(ctx, "any", metav1.DeleteOptions{}); !kerrors.IsForbidden(err) {
		t.Errorf("a verb that was not granted: %v, want forbidden", err)
	}
}

// namespace makes one that is deleted after the test.
func namespace(t *testing.T, admin *kubernetes.Clientset) string {
	t.Helper()
	ns, err := admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "devcluster-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}) })
	return ns.Name
}

func TestControllersClean(t *testing.T) {
	built(t)
	ctx := t.Context()
	admin := adminOf(t, Shared(t))
	ns := namespace(t, admin)
	configMaps := admin.CoreV1().ConfigMaps(ns)
	owner, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	for _, object := range []metav1.ObjectMeta{{Name: "owned", OwnerReferences: []metav1.OwnerReference{reference}},
		{Name: "free"}} {
		if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	if err := configMaps.Delete(ctx, owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the owned object is gone", func() bool {
		_, err := configMaps.Get(ctx, "owned", metav1.GetOptions{})
		return kerrors.IsNotFound(err)
	})
	if _, err := configMaps.Get(ctx, "free", metav1.GetOptions{}); err != nil {
		t.Errorf("an object without an owner: %v", err)
	}

	if err := admin.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the namespace is gone", func() bool {
		_, err := admin.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		return kerrors.IsNotFound(err)
	})
}

func TestSharedControlPlaneEndsByItself(t *testing.T) {
	// Who is slow on a busy machine must not pass for gone.
	r := run{binary: built(t), folder: filepath.Join(t.TempDir(), "run"), ttl: 10 * time.Second,
		timeout: DefaultStartTimeout}
	first, err := r.join(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.join(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Dir != second.Dir {
		t.Errorf("two users of one run got %s and %s", first.Dir, second.Dir)
	}
	if err := first.Kill(); !errors.Is(err, ErrNotOwned) {
		t.Errorf("kill of a shared control plane: %v, want ErrNotOwned", err)
	}
	if err := errors.Join(first.Stop(), second.Stop()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the unused control plane is gone, and its folder", func() bool {
		_, err := os.Stat(first.Dir)
		return errors.Is(err, os.ErrNotExist)
	})
	third, err := r.join(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if third.Dir == first.Dir {
		t.Error("joined a control plane that has ended")
	}
	if _, err := adminOf(t, third).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the one that replaced it: %v", err)
	}
	if err := third.Stop(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the last control plane is gone", func() bool { return removeDead(r.folder) })
}

func TestKilledParentLeavesNothing(t *testing.T) {
	built(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentMode+"=1")
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	n, err := output.Read(buffer)
	killed := cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || killed != nil {
		t.Fatal(err, killed)
	}
	dir := strings.TrimSpace(string(buffer[:n]))
	wait.Until(t, "the control plane is gone, and its folder", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

// TestAssetsOfEnvtest runs our binary as the two programs it also is, which is
// what another folder of envtest programs looks like.
func TestAssetsOfEnvtest(t *testing.T) {
	binary := built(t)
	assets := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.Symlink(binary, filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(EnvAssets, assets)
	c := started(t, Options{Own: true})
	ctx := t.Context()
	admin := adminOf(t, c)
	ns := namespace(t, admin)
	config, err := c.UserConfig(ctx, "jane")
	if _, err := clientFor(t, config, err).CoreV1().Secrets(ns).List(ctx,
		metav1.ListOptions{}); !kerrors.IsForbidden(err) {
		t.Errorf("a user without a role: %v, want forbidden", err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{}); err != nil {
		t.Errorf("after Kill and Restart: %v", err)
	}
	private, err := Join(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if private.server == nil || private.Dir == c.Dir {
		t.Error("programs that cannot end by themselves are shared")
	}
	if err := private.Stop(); err != nil {
		t.Error(err)
	}
}

// TestKubectlSeesVersion guards the version stamp, without which kubectl does
// not talk to the server.
func TestKubectlSeesVersion(t *testing.T) {
	built(t)
	version, err := adminOf(t, Shared(t)).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{version.GitVersion, version.Major, version.Minor}
	if want := []string{"v1.36.4", "1", "36"}; !slices.Equal(got, want) {
		t.Errorf("version %q, want %q", got, want)
	}
}
