package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moorage-dev/moorage/devcluster/internal/folder"
	"github.com/moorage-dev/moorage/devcluster/internal/pki"
)

// kubeconfig works whether the server runs or not: it only signs.
func kubeconfig(args []string, s streams) error {
	flags := pflag.NewFlagSet("kubeconfig", pflag.ContinueOnError)
	dir := flags.String("dir", "", "folder that devcluster serve was started with (required)")
	user := flags.String("user", "", "name of the user (required)")
	groups := flags.StringArray("group", nil, "group that the user is in; may be repeated")
	ttl := flags.Duration("ttl", time.Hour, "how long the credential is valid")
	if err := parse(flags, args, s); err != nil {
		return err
	}
	switch {
	case *dir == "":
		return misuse("kubeconfig: --dir is required")
	case *user == "":
		return misuse("kubeconfig: --user is required")
	case *ttl <= 0:
		return misuse(fmt.Sprintf("kubeconfig: --ttl must be more than zero, not %s", *ttl))
	}
	content, err := mint(*dir, *user, *groups, *ttl)
	if err != nil {
		return err
	}
	_, err = s.out.Write(content)
	return err
}

func mint(dir, user string, groups []string, ttl time.Duration) ([]byte, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use folder %s: %w", dir, err)
	}
	f := folder.Folder(path)
	authority, err := pki.Read(f.PKI(), time.Now)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %s has no devcluster yet; run: devcluster serve --dir %s", f, f)
	}
	if err != nil {
		return nil, err
	}
	port, err := f.Port()
	if err != nil {
		return nil, err
	}
	if port == 0 {
		return nil, fmt.Errorf("folder %s does not name a port yet; run: devcluster serve --dir %s", f, f)
	}
	pair, err := authority.Client(user, groups, ttl)
	if err != nil {
		return nil, err
	}
	return clientcmd.Write(*folder.Config(port, authority.Certificate(), user, pair))
}
