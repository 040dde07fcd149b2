package app_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/plan"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var plannedStreams = flag.Int("planned-streams", 40, "how many streams TestPlan has")

// reading is the user of NATS that may only read.
const reading = "provider-nats-plan"

// A planned environment has streams that a provider has made, and a user that may only read.
type planned struct {
	*testing.T

	env        *devenv.Env
	nats       *server.Server
	js         jetstream.JetStream
	kubeconfig string
	account    string // the user of the kubeconfig
	job        batchv1.Job
}

func newPlanned(t *testing.T) *planned {
	t.Helper()

	p := &planned{T: t}
	p.nats = natstest.Start(t, func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "provider", Password: "p"},
			{Username: reading, Password: "r", Permissions: &server.Permissions{Publish: &server.SubjectPermission{
				Allow: []string{
					"$SYS.REQ.USER.INFO", "$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES",
					"$JS.API.CONSUMER.INFO.*.*",
				},
			}}},
		}
	})

	var err error
	p.js, err = jetstream.New(natstest.Connect(t, p.nats, nats.UserInfo("provider", "p")))
	p.must(err)

	p.env, err = devenv.Start(t.Context(), devenv.Options{NATSURL: p.nats.ClientURL(), Progress: os.Stderr})
	p.must(err)
	t.Cleanup(func() {
		if err := p.env.Stop(); err != nil {
			t.Error(err)
		}
	})

	p.logIn("provider", "p")
	p.grant()

	return p
}

func (p *planned) must(err error) {
	p.Helper()

	if err != nil {
		p.Fatal(err)
	}
}

// logIn lets the ProviderConfig log in to NATS as a user.
func (p *planned) logIn(user, password string) {
	p.Helper()

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: user},
		StringData: map[string]string{"username": user, "password": password},
	}
	p.must(p.env.Client.Create(p.Context(), secret))

	pc := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: devenv.Namespace, Name: v1alpha1.DefaultProviderConfig,
	}}
	p.must(p.env.Client.Get(p.Context(), client.ObjectKeyFromObject(pc), pc))
	pc.Spec.Credentials = v1alpha1.Credentials{
		Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeUserPassword,
		SecretRef: &v1alpha1.SecretKeyReference{Name: user},
	}
	p.must(p.env.Client.Update(p.Context(), pc))
}

// grant applies the role of deploy/plan and its binding. The command runs as the service account of the Job.
func (p *planned) grant() {
	p.Helper()

	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	p.deployed("role.yaml", role)
	p.deployed("clusterrolebinding.yaml", binding)
	p.must(p.env.Client.Create(p.Context(), role))
	p.must(p.env.Client.Create(p.Context(), binding))

	p.deployed("job.yaml", &p.job)

	pod, subject := p.job.Spec.Template.Spec, binding.Subjects[0]
	if subject.Kind != rbacv1.ServiceAccountKind || subject.Namespace != p.job.Namespace ||
		subject.Name != pod.ServiceAccountName || len(pod.Containers) != 1 {
		p.Fatalf("the role is bound to %+v, and not to the account of the Job %+v", subject, pod)
	}

	p.account = "system:serviceaccount:" + subject.Namespace + ":" + subject.Name

	image, err := p.env.Cluster.UserKubeconfig(p.Context(), p.account, "system:serviceaccounts")
	p.must(err)

	p.kubeconfig = filepath.Join(p.TempDir(), "kubeconfig")
	p.must(os.WriteFile(p.kubeconfig, image, 0o600))
}

// deployed reads a manifest of deploy/plan.
func (p *planned) deployed(name string, into any) {
	p.Helper()

	image, err := os.ReadFile(filepath.Join("..", "..", "deploy", "plan", name))
	p.must(err)
	p.must(yaml.UnmarshalStrict(image, into))
}

func (p *planned) stream(name string) *v1alpha1.Stream {
	mg := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: name}}
	mg.Spec.ForProvider.Subjects = []string{name + ".>"}
	mg.Spec.ForProvider.MaxAge = &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Hour}}

	return mg
}

// provide runs the provider until all streams are ready.
func (p *planned) provide(all []client.Object) {
	p.Helper()

	o := provider.DefaultOptions()
	o.HealthAddress, o.MetricsAddress = "0", "0"
	o.MaxReconcileRate = 500

	running, err := p.env.RunProvider(p.Context(), o)
	p.must(err)

	cfg, err := p.env.Cluster.RESTConfig()
	p.must(err)

	cfg.QPS = -1 // no limit
	unlimited, err := client.New(cfg, client.Options{Scheme: p.env.Client.Scheme()})
	p.must(err)

	for _, obj := range all {
		p.must(unlimited.Create(p.Context(), obj))
	}

	wait.Until(p.T, "all streams are ready", func() bool {
		list := &v1alpha1.StreamList{}
		p.must(unlimited.List(p.Context(), list))

		return len(list.Items) == len(all) && !slices.ContainsFunc(list.Items, func(s v1alpha1.Stream) bool {
			return s.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue
		})
	})

	if err := running.Stop(); err != nil {
		p.Errorf("the provider failed: %v", err)
	}
}

// tamper changes the configuration of a stream in NATS.
func (p *planned) tamper(name string, change func(*jetstream.StreamConfig)) {
	p.Helper()

	s, err := p.js.Stream(p.Context(), name)
	p.must(err)

	cfg := s.CachedInfo().Config
	change(&cfg)

	_, err = p.js.UpdateStream(p.Context(), cfg)
	p.must(err)
}

// run runs the command line of the Job, with more arguments, as a process of its own: a command sets the logger of the
// process, which the provider uses.
func (p *planned) run(args ...string) (code int, stdout, stderr string) {
	p.Helper()

	var out, errs bytes.Buffer

	container := p.job.Spec.Template.Spec.Containers[0]
	cmd := exec.CommandContext(p.Context(), os.Args[0], slices.Concat(container.Args, args)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+p.kubeconfig)
	cmd.Stdout, cmd.Stderr = &out, &errs

	if len(container.Command)+len(container.Env)+len(container.EnvFrom) > 0 {
		p.Fatalf("the Job has more than arguments: %+v", container)
	}

	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.Fatal(err)
	}

	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// rows returns the lines of the table by the name of the object, with single spaces.
func rows(table string) map[string]string {
	out := map[string]string{}

	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Fields(line); len(cells) > 3 && (cells[0] == "Stream" || cells[0] == "KeyValue") {
			out[cells[2]] = strings.Join(cells[3:], " ")
		}
	}

	return out
}

// unwritten checks that neither the API server nor NATS was asked for a change.
func (p *planned) unwritten(before map[string]uint64) {
	p.Helper()

	requests, err := p.env.Cluster.Requests(p.account)
	p.must(err)

	for _, r := range requests {
		if r.Verb == "patch" && r.Code == http.StatusForbidden { // the dry run of a manifest
			continue
		}

		if !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			p.Errorf("the command has sent %+v", r)
		}
	}

	if after := p.fingerprints(); !reflect.DeepEqual(before, after) {
		p.Errorf("objects in the API server were changed: %v, then %v", before, after)
	}
}

// fingerprints returns the resource version of each stream in the API server. NATS needs none: it refuses all changes
// of the user.
func (p *planned) fingerprints() map[string]uint64 {
	p.Helper()

	out := map[string]uint64{}
	list := &v1alpha1.StreamList{}
	p.must(p.env.Client.List(p.Context(), list))

	for i := range list.Items {
		var version uint64
		if _, err := fmt.Sscan(list.Items[i].ResourceVersion, &version); err != nil {
			p.Fatal(err)
		}

		out[list.Items[i].Name] = version
	}

	return out
}

// TestPlan: a user that may only read, in the API server and in NATS, sees exactly the streams that differ.
func TestPlan(t *testing.T) {
	p := newPlanned(t)

	var all []client.Object
	for i := range *plannedStreams {
		all = append(all, p.stream(fmt.Sprintf("s%04d", i)))
	}

	p.provide(all)
	p.logIn(reading, "r")

	if code, out, errs := p.run(); code != plan.ExitUnchanged || len(rows(out)) > 0 ||
		!strings.Contains(out, fmt.Sprint(*plannedStreams, " as it is.\nNothing was changed.")) {
		t.Errorf("at rest: exit code %d\n%s%s", code, out, errs)
	}

	p.tamper("s0001", func(cfg *jetstream.StreamConfig) { cfg.MaxAge = 72 * time.Hour })
	p.tamper("s0002", func(cfg *jetstream.StreamConfig) { cfg.Subjects = []string{"other.\x01>"} })
	p.must(p.js.DeleteStream(t.Context(), "s0003"))
	p.must(p.env.Client.Delete(t.Context(), all[4]))

	before := p.fingerprints()
	began := time.Now()
	code, out, errs := p.run()
	t.Logf("%d streams in %s:\n%s", *plannedStreams, time.Since(began), out)

	got := rows(out)
	for name, want := range map[string]string{
		"s0001": "Update The resource is not as desired",
		"s0002": "Update The resource is not as desired",
		"s0003": "Create The resource does not exist, and it is safe to create it",
		"s0004": "Delete The resource exists, and nothing has to happen before it is deleted",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}

	if code != plan.ExitChanges || len(got) != 4 || strings.ContainsAny(out, "\x01\x1b") || errs != "" {
		t.Errorf("exit code %d, %d rows, on stderr: %s", code, len(got), errs)
	}

	p.files()
	p.json()
	p.mistakes()
	p.unwritten(before)

	p.logIn("stranger", "wrong")

	if code, out, _ := p.run("--kind", "Stream"); code != plan.ExitFailed || !strings.Contains(out, "Authorization") {
		t.Errorf("with credentials that are wrong: exit code %d\n%s", code, out)
	}

	if code, out, errs := p.run("--credentials-secret", devenv.Namespace+"/"+reading); code != plan.ExitChanges ||
		len(rows(out)) != 4 {
		t.Errorf("with the Secret of a reader: exit code %d\n%s%s", code, out, errs)
	}

	p.unprepared()
	p.nats.Shutdown()

	if code, out, _ := p.run("--kind", "Stream"); code != plan.ExitFailed ||
		!strings.Contains(out, "could not be planned") {
		t.Errorf("without NATS: exit code %d\n%s", code, out)
	}
}

// unprepared checks plans where a Secret, or a kind in the API server, does not exist.
func (p *planned) unprepared() {
	p.Helper()

	code, out, errs := p.run("--credentials-secret", devenv.Namespace+"/absent", "--kind", "Stream")
	if code != plan.ExitFailed || len(rows(out)) != *plannedStreams || errs != "" ||
		!strings.Contains(out, `the Secret "absent", which spec.credentials.secretRef names`) {
		p.Errorf("without the Secret: exit code %d\n%.2000s%s", code, out, errs)
	}

	kind := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "objectstores.nats.moorage.dev"}}
	kind.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	})
	p.must(p.env.Client.Delete(p.Context(), kind))
	wait.Until(p.T, "the kind is gone", func() bool {
		return resource.IsNotFound(p.env.Client.Get(p.Context(), client.ObjectKeyFromObject(kind), kind))
	})

	code, out, errs = p.run("--credentials-secret", devenv.Namespace+"/"+reading)
	if code != plan.ExitFailed || !strings.Contains(out+errs, "ObjectStore") ||
		!strings.Contains(out+errs, "CustomResourceDefinition") {
		p.Errorf("without a kind: exit code %d\n%s%s", code, out, errs)
	}
}

// json checks the form for programs.
func (p *planned) json() {
	p.Helper()

	code, out, errs := p.run("-o", "json", "--all", "--kind", "stream")

	var document struct {
		APIVersion, Kind, Provider, Cluster string
		Objects                             []struct {
			Name, Action string
			Differences  []commonv1.Difference
		}
		Summary map[string]int
	}
	p.must(json.Unmarshal([]byte(out), &document))

	if code != plan.ExitChanges || document.APIVersion != "moorage.dev/v1" || document.Kind != "Plan" ||
		document.Provider != provider.Name || document.Cluster == "" || len(document.Objects) != *plannedStreams ||
		document.Summary["update"] != 2 || document.Summary["atRest"] != *plannedStreams-4 {
		p.Errorf("exit code %d, %s%s", code, out, errs)
	}

	if d := document.Objects[1].Differences; len(d) != 1 || d[0].Path != "maxAge" {
		p.Errorf("s0001 differs in %+v", d)
	}
}

// file writes a file, and returns its path.
func (p *planned) file(content string) string {
	p.Helper()

	path := filepath.Join(p.TempDir(), "manifests.yaml")
	p.must(os.WriteFile(path, []byte(content), 0o600))

	return path
}

func manifestOf(name, spec string) string {
	return "apiVersion: nats.moorage.dev/v1alpha1\nkind: Stream\nmetadata: {name: " + name + "}\nspec: " + spec + "\n---\n"
}

// files checks the plans of manifests that are not applied.
func (p *planned) files() {
	p.Helper()

	path := p.file("# a comment\n---\n" + manifestOf("s0005", `{forProvider: {subjects: [s0005.>], maxAge: 2h}}`) +
		manifestOf("s0006", `{forProvider: {subjects: [s0006.>], maxAge: 1h}}`) +
		manifestOf("new", `{forProvider: {subjects: [new.>]}}`))

	code, out, errs := p.run("-f", path)
	got := rows(out)

	if code != plan.ExitChanges || len(got) != 2 || !strings.HasPrefix(got["s0005"], "Update") ||
		!strings.Contains(got["s0005"], `maxAge "2h0m0s" <- "1h0m0s"`) || !strings.HasPrefix(got["new"], "Create") ||
		!strings.Contains(out, "The API server has not validated 3 manifests: that needs the verbs patch and create") {
		p.Errorf("exit code %d\n%s%s", code, out, errs)
	}

	if err := p.env.Client.Get(p.Context(), client.ObjectKey{Namespace: devenv.Namespace, Name: "new"},
		&v1alpha1.Stream{}); !resource.IsNotFound(err) {
		p.Errorf("a manifest was applied: %v", err)
	}

	// with the right to patch, the API server validates
	mine := p.kubeconfig
	p.kubeconfig = p.env.Cluster.Kubeconfig

	if code, out, errs := p.run("-f", path); code != plan.ExitChanges || strings.Contains(out, "not validated") {
		p.Errorf("validated: exit code %d\n%s%s", code, out, errs)
	}

	code, out, errs = p.run("-f", path, "-o", "json")
	if code != plan.ExitChanges || strings.Count(out, `"uid"`) != 1 {
		p.Errorf("validated, as JSON: exit code %d, want the UID of s0005 only\n%s%s", code, out, errs)
	}

	p.conflicts()
	p.follows()

	fixed := p.file(manifestOf("s0008", `{forProvider: {subjects: [s0008.>], maxAge: 1h, storage: memory}}`))
	if code, out, errs := p.run("-f", fixed); code != plan.ExitChanges || // the status does not have that difference
		!strings.Contains(rows(out)["s0008"], `storage "memory" <- "file" (cannot be changed)`) {
		p.Errorf("an immutable field: exit code %d\n%s%s", code, out, errs)
	}

	bad := p.file(manifestOf("new", `{forProvider: {subjects: [new.>], replicas: 17}}`))
	if code, out, errs := p.run("-f", bad); code != plan.ExitFailed || !strings.Contains(errs, "document 1") {
		p.Errorf("an invalid manifest: exit code %d\n%s%s", code, out, errs)
	}

	p.kubeconfig = mine
}

// follows checks the plan of a consumer whose stream is in the same files.
func (p *planned) follows() {
	p.Helper()

	consumer := "apiVersion: nats.moorage.dev/v1alpha1\nkind: Consumer\nmetadata: {name: c}\n" +
		"spec: {forProvider: {streamRef: {name: new}}}\n---\n"

	code, out, errs := p.run("-f", p.file(consumer), "-f", p.file(manifestOf("new", `{forProvider: {subjects: [new.>]}}`)))
	if code != plan.ExitChanges || !strings.Contains(out, "Follow  Stream default/new, which the files create first") {
		p.Errorf("with its stream: exit code %d\n%s%s", code, out, errs)
	}

	code, out, errs = p.run("-f", p.file(consumer))
	if code != plan.ExitFailed || !strings.Contains(out, "could not be planned") {
		p.Errorf("without its stream: exit code %d\n%s%s", code, out, errs)
	}
}

// conflicts checks the plan of a server-side apply of a field that another field manager, this test, has set.
func (p *planned) conflicts() {
	p.Helper()

	path := p.file(manifestOf("s0007", `{forProvider: {subjects: [s0007.>], maxAge: 3h}}`) +
		manifestOf("new", `{forProvider: {subjects: [new.>]}}`))

	code, out, errs := p.run("-f", path, "--server-side")
	if got := rows(out); code != plan.ExitFailed || len(got) != 2 || !strings.HasPrefix(got["new"], "Create") ||
		!strings.HasPrefix(got["s0007"], "? other field managers have set fields") ||
		!strings.Contains(got["s0007"], `spec.forProvider.maxAge (conflict with "app.test"`) {
		p.Errorf("a conflict: exit code %d\n%s%s", code, out, errs)
	}

	for _, args := range [][]string{{}, {"--server-side", "--force-conflicts"}} {
		code, out, errs := p.run(append(args, "-f", path)...)
		if got := rows(out)["s0007"]; code != plan.ExitChanges || !strings.HasPrefix(got, "Update") {
			p.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

// mistakes checks what the command says to bad input. Each is one line.
func (p *planned) mistakes() {
	p.Helper()

	good := manifestOf("a", "{}")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"kind":       {[]string{"--kind", "Bucket"}, `the provider has no kind "Bucket"; it has Stream, KeyValue,`},
		"namespace":  {[]string{"--namespace", "typo"}, `the namespace "typo" does not exist: correct --namespace`},
		"of several": {[]string{"-n", "default,typo"}, `the namespace "typo" does not exist: correct --namespace`},
		"of files":   {[]string{"-n", "typo", "-f", p.file(good)}, `the namespace "typo" does not exist`},
		"secret":     {[]string{"--credentials-secret", "reader"}, "such as default/reader"},
		"output":     {[]string{"-o", "yaml"}, `-o must be table or json, and not "yaml"`},
		"workers":    {[]string{"--workers", "0"}, "--workers must be more than 0"},
		"timeout":    {[]string{"--timeout", "0s"}, "--timeout must be more than 0"},
		"argument":   {[]string{"please"}, `unexpected argument "please"`},
		"both":       {[]string{"--kind", "Stream", "-f", "x"}, "--kind does not go with -f"},
		"apply":      {[]string{"--server-side"}, "--server-side needs -f"},
		"force":      {[]string{"--force-conflicts", "-f", "x"}, "--force-conflicts needs --server-side"},
		"no time":    {[]string{"--timeout", "1ns"}, "--timeout of 1ns is over: waited for "},
		"kubeconfig": {[]string{"--kubeconfig", "/does/not/exist"}, "name a kubeconfig by --kubeconfig"},
		"no file":    {[]string{"-f", "/does/not/exist"}, "name another file by -f"},
		"folder":     {[]string{"-f", p.TempDir()}, "is a folder: name its files by -f"},
		"empty":      {[]string{"-f", p.file("# nothing\n")}, "there is no manifest in it"},
		"other kind": {
			[]string{"-f", p.file(good + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")},
			"document 2: this provider has no kind ConfigMap of v1: it plans Stream",
		},
		"no name": {
			[]string{"-f", p.file("apiVersion: nats.moorage.dev/v1alpha1\nkind: Stream\n")}, "document 1 has no metadata.name",
		},
		"twice":     {[]string{"-f", p.file(good + good)}, "document 1, too: keep one of them"},
		"no object": {[]string{"-f", p.file("apiVersion: [v1\n")}, "document 1"},
		"text":      {[]string{"-f", p.file("just text\n")}, "document 1"},
		"2 MB": {
			[]string{"-f", p.file(manifestOf("a", `{forProvider: {description: "`+strings.Repeat("x", 2<<20)+`"}}`))},
			"the API server stores at most",
		},
	} {
		code, out, errs := p.run(c.args...)
		lines := strings.Count(errs, "\n")
		if code != plan.ExitFailed || out != "" || lines != 1 || !strings.Contains(errs, c.want) {
			p.Errorf("%s: exit code %d, want one line with %q\n%s%.500s", name, code, c.want, out, errs)
		}
	}
}
