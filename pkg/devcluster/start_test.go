package devcluster

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://cluster.example:6443"}}]
users: [{name: u, user: {token: secret}}]
`

func TestFromAssets(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"both/etcd", "both/kube-apiserver", "all/etcd", "all/kube-apiserver", "all/devcluster",
		"half/etcd"} {
		program(t, filepath.Join(root, path))
	}
	write(t, root, map[string]string{"text/etcd": "", "text/kube-apiserver": ""})
	cases := map[string]struct {
		reason string
		folder string
		want   programs
	}{
		"None": {"nothing is given", "", programs{}},
		"Both": {"the programs of envtest", "both", programs{assets: filepath.Join(root, "both")}},
		"All": {"our own binary has controllers, too", "all",
			programs{devcluster: filepath.Join(root, "all", "devcluster")}},
		"Half":   {"etcd alone is no control plane", "half", programs{}},
		"Text":   {"files that cannot be run are no programs", "text", programs{}},
		"Absent": {"the folder is not there", "absent", programs{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			folder := c.folder
			if folder != "" {
				folder = filepath.Join(root, folder)
			}
			got, err := fromAssets(folder)
			if err != nil || got != c.want {
				t.Errorf("%s: got %+v, %v, want %+v", c.reason, got, err, c.want)
			}
		})
	}
}

func TestExistingCluster(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"kubeconfig": kubeconfig})
	t.Setenv(EnvKubeconfig, filepath.Join(dir, "kubeconfig"))

	for name, get := range map[string]func() (*Cluster, error){
		"Start":  func() (*Cluster, error) { return Start(t.Context(), Options{}) },
		"Join":   func() (*Cluster, error) { return Join(t.Context(), Options{}) },
		"Shared": func() (*Cluster, error) { return Shared(t), nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := get()
			if err != nil {
				t.Fatal(err)
			}
			config, err := c.RESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != "https://cluster.example:6443" || config.BearerToken != "secret" || config.QPS != -1 {
				t.Errorf("configuration of another cluster: %+v", config)
			}
			user, err := c.UserConfig(t.Context(), "jane", "admin", "staff")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rest.ImpersonationConfig{UserName: "jane", Groups: []string{"admin", "staff"},
				Extra: map[string][]string{}}, user.Impersonate); diff != "" {
				t.Errorf("impersonation: -want, +got:\n%s", diff)
			}
			if err := c.Kill(); !errors.Is(err, ErrNotOwned) {
				t.Errorf("Kill: %v, want ErrNotOwned", err)
			}
			if err := c.Restart(t.Context()); !errors.Is(err, ErrNotOwned) {
				t.Errorf("Restart: %v, want ErrNotOwned", err)
			}
			if err := errors.Join(c.Stop(), c.Stop()); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	}
}

func TestExistingClusterIsUnusable(t *testing.T) {
	t.Setenv(EnvKubeconfig, filepath.Join(t.TempDir(), "absent"))
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), EnvKubeconfig) {
		t.Errorf("error %v, want one that names %s", err, EnvKubeconfig)
	}
}

// recorder is a TB that fails as a test would, without ending it.
type recorder struct {
	*testing.T
	failure string
}

func (r *recorder) Fatalf(format string, _ ...any) { r.failure = format }

func TestSharedNeverSkips(t *testing.T) {
	t.Setenv(EnvKubeconfig, filepath.Join(t.TempDir(), "absent"))
	r := &recorder{T: t}
	if Shared(r); r.failure == "" {
		t.Error("a missing control plane did not fail the test")
	}
}

func TestUserNeedsName(t *testing.T) {
	c := &Cluster{mint: impersonate("unused")}
	if _, err := c.UserKubeconfig(t.Context(), ""); err == nil {
		t.Error("an empty user name was accepted")
	}
}

func TestImpersonateNeedsUser(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"kubeconfig": strings.Replace(kubeconfig, "current-context: c",
		"current-context: other", 1)})
	if _, err := impersonate(filepath.Join(dir, "kubeconfig"))(t.Context(), "jane", nil); err == nil {
		t.Error("a kubeconfig without a current user was accepted")
	}
}

func TestImpersonateResolvesPaths(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"kubeconfig": strings.Replace(kubeconfig, "{token: secret}", "{tokenFile: token}", 1)})
	content, err := impersonate(filepath.Join(dir, "kubeconfig"))(t.Context(), "jane", nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := config.AuthInfos["u"].TokenFile, filepath.Join(dir, "token"); got != want {
		t.Errorf("token file %q, want %q: the new file may lie elsewhere", got, want)
	}
}

func TestOptionsDefaults(t *testing.T) {
	if got := (Options{}).startTimeout(); got != DefaultStartTimeout {
		t.Errorf("start timeout %s, want %s", got, DefaultStartTimeout)
	}
	if got := (Options{StartTimeout: time.Second}).startTimeout(); got != time.Second {
		t.Errorf("start timeout %s, want 1s", got)
	}
}
