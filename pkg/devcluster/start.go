package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Start starts a control plane in a separate process and returns when it is ready. It builds devcluster first if
// necessary. The caller owns the control plane and must call Stop. If the caller's process is killed, the control plane
// ends too, and a temporary folder is removed.
//
// If EnvKubeconfig names an existing cluster, and Options.Own is false, Start returns the existing cluster instead.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if c, err := existing(); !o.Own && (c != nil || err != nil) {
		return c, err
	}
	programs, err := find(ctx, o)
	if err != nil {
		return nil, err
	}
	dir, release, err := dataFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	var c *Cluster
	if programs.devcluster != "" {
		c = served(programs.devcluster, dir, o)
	} else {
		c = assembled(programs.assets, dir, o)
	}
	c.release = release
	if err := c.server.start(ctx); err != nil {
		_ = release()
		return nil, fmt.Errorf("cannot start devcluster: %w", err)
	}
	return c, nil
}

// programs are the programs from which a control plane is started: either a devcluster binary, or a folder with
// kube-apiserver and etcd.
type programs struct {
	devcluster string
	assets     string
}

func find(ctx context.Context, o Options) (programs, error) {
	if p, err := fromAssets(os.Getenv(EnvAssets)); err != nil || p != (programs{}) {
		return p, err
	}
	binary, err := Ensure(ctx, o)
	return programs{devcluster: binary}, err
}

// fromAssets returns the programs in the folder. If the folder is "" or contains none of the programs, it returns the
// zero value. The folder of another use of envtest may contain none.
func fromAssets(folder string) (programs, error) {
	if folder == "" {
		return programs{}, nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return programs{}, fmt.Errorf("cannot use %s: %w", EnvAssets, err)
	}
	if binary := filepath.Join(folder, binaryName); executable(binary) {
		return programs{devcluster: binary}, nil
	}
	if executable(filepath.Join(folder, "kube-apiserver")) && executable(filepath.Join(folder, "etcd")) {
		return programs{assets: folder}, nil
	}
	return programs{}, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// existing returns the cluster that EnvKubeconfig names, or nil.
func existing() (*Cluster, error) {
	path := os.Getenv(EnvKubeconfig)
	if path == "" {
		return nil, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", EnvKubeconfig, err)
	}
	c := &Cluster{Kubeconfig: path, mint: impersonate(path)}
	if _, err := c.RESTConfig(); err != nil {
		return nil, fmt.Errorf("cannot use the cluster that %s names: %w", EnvKubeconfig, err)
	}
	return c, nil
}

// dataFolder returns the absolute path of dir, and a function that does nothing. If dir is "", it returns a new
// temporary folder, and a function that removes it.
func dataFolder(dir string) (string, func() error, error) {
	if dir == "" {
		dir, err := os.MkdirTemp("", "devcluster-")
		if err != nil {
			return "", nil, fmt.Errorf("cannot make a temporary folder: %w", err)
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("cannot use folder %s: %w", dir, err)
	}
	return dir, func() error { return nil }, nil
}

// served returns a Cluster that "devcluster serve" runs in dir.
func served(binary, dir string, o Options) *Cluster {
	args := []string{"serve", "--dir", dir, "--exit-on-stdin-eof"}
	if o.Port != 0 {
		args = append(args, "--port", strconv.Itoa(o.Port))
	}
	if o.Durable {
		args = append(args, "--durable")
	}
	if o.Audit {
		args = append(args, "--audit")
	}
	if o.Dir == "" {
		args = append(args, "--discard-abandoned")
	}
	return &Cluster{
		Dir:        dir,
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		mint:       mintWith(binary, dir),
		server:     &serve{binary: binary, args: args, timeout: o.startTimeout()},
	}
}
