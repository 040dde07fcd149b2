package plan

import (
	"flag"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// flags are the flags of the command.
type flags struct {
	kubeconfig, namespace, output, secret string
	how                                   managed.Apply
	kinds, files                          texts
	all                                   bool
	workers                               int
	timeout                               time.Duration
}

// texts are the values of a flag that may be given several times.
type texts []string

// String returns the values.
func (t *texts) String() string { return strings.Join(*t, ",") }

// Set adds a value.
func (t *texts) Set(value string) error {
	*t = append(*t, value)

	return nil
}

const (
	outputTable = "table"
	outputJSON  = "json"
)

// parse parses the flags, and returns an error that names the flag to correct.
func parse(p Provider, args []string, errs io.Writer) (f flags, err error) {
	set := flag.NewFlagSet(p.Name+" plan", flag.ContinueOnError)
	set.SetOutput(errs)
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"path of a kubeconfig; empty means $KUBECONFIG, the pod's own access, or ~/.kube/config")
	set.StringVar(&f.namespace, "namespace", "",
		"plan the objects of this namespace only, or of several, separated by commas; empty means all. With -f it is the "+
			"namespace of manifests without one; empty means that of the kubeconfig")
	set.StringVar(&f.namespace, "n", "", "the same as --namespace")
	set.Var(&f.kinds, "kind", "plan the objects of this kind only; may be given several times")
	set.Var(&f.files, "f", "plan the manifests of this `file` instead of stored objects, without applying them; may be "+
		"given several times")
	set.BoolVar(&f.how.ServerSide, "server-side", false,
		"with -f, plan what kubectl apply --server-side would do, and not kubectl apply")
	set.BoolVar(&f.how.Force, "force-conflicts", false,
		"with --server-side, take over fields that other field managers have set; otherwise their objects cannot be planned")
	set.StringVar(&f.how.FieldManager, "field-manager", "",
		"with -f, the field manager that would apply the manifests; empty means that of kubectl apply")
	if p.Credentials != nil {
		set.StringVar(&f.secret, "credentials-secret", "", "use the Secret `namespace/name` in place of those that the "+
			"configurations of the provider name, with the same keys; its credentials need no more than to read")
	}
	set.BoolVar(&f.all, "all", false, "print the objects that stay as they are, too")
	set.StringVar(&f.output, "o", outputTable, "how to print the plans: table or json")
	set.IntVar(&f.workers, "workers", 10, "how many objects are planned at a time")
	set.DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long the plan may take in total")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, errors.Errorf("unexpected argument %q: all arguments are flags", set.Arg(0))
	}

	return f, f.check()
}

// check returns an error that names the flag to correct.
func (f flags) check() error {
	switch {
	case f.output != outputTable && f.output != outputJSON:
		return errors.Errorf("-o must be table or json, and not %q", f.output)
	case f.workers <= 0:
		return errors.New("--workers must be more than 0")
	case f.timeout <= 0:
		return errors.New("--timeout must be more than 0")
	case f.how.ServerSide && len(f.files) == 0:
		return errors.New("--server-side needs -f: it says how manifests would be applied")
	case f.how.Force && !f.how.ServerSide:
		return errors.New("--force-conflicts needs --server-side: kubectl apply without it has no conflicts")
	case len(f.files) > 0 && len(f.kinds) > 0:
		return errors.New("--kind does not go with -f: all manifests of the files are planned")
	case len(f.files) > 0 && len(f.namespaces()) > 1:
		return errors.New("with -f, --namespace is that of manifests without one: give only one")
	case f.secret != "" && f.credentials().Name == "":
		return errors.Errorf("--credentials-secret must be the namespace and the name of a Secret, such as default/reader, "+
			"and not %q", f.secret)
	}

	return nil
}

// credentials returns the Secret of the flag --credentials-secret, or none.
func (f flags) credentials() types.NamespacedName {
	namespace, name, _ := strings.Cut(f.secret, "/")
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}
	}

	return types.NamespacedName{Namespace: namespace, Name: name}
}

// namespaces returns the namespaces of the flag.
func (f flags) namespaces() []string {
	return strings.FieldsFunc(f.namespace, func(r rune) bool { return r == ',' || r == ' ' })
}

// cached returns the namespaces whose objects are planned; none means all. With files, manifests name them.
func (f flags) cached() []string {
	if len(f.files) > 0 {
		return nil
	}

	return f.namespaces()
}
