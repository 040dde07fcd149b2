package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// now is the time of all tests.
var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// A server is an API server in memory, as far as the commands need one.
type server struct {
	*testing.T

	http       *httptest.Server
	kubeconfig string
	resources  []metav1.APIResource // with Group and Version

	mu       sync.Mutex
	version  int
	objects  map[string]*unstructured.Unstructured // by resource, namespace and name
	log      []entry
	grown    chan struct{}     // closed when log grows
	watching int               // watches so far
	forbid   map[string]bool   // by verb and resource
	requests []string          // method, path and query
	patches  map[string]string // the last patch of an object

	endWatches atomic.Int32 // how many watches the server ends at once
	expire     bool         // it ends them as expired
	page       int          // objects in a response of a list; 0: all
	drop       bool         // annotations are not stored
	deaf       bool         // no provider pauses objects

	away    atomic.Bool  // a proxy says that the API server is away
	refused atomic.Int32 // how often it did

	before  func(r *http.Request)                         // each request; may be nil
	patched func(s *server, o *unstructured.Unstructured) // plays the provider; may be nil
}

// An entry is a change of an object.
type entry struct {
	version  int
	resource string
	kind     string // of the watch
	object   *unstructured.Unstructured
}

// newServer starts an API server with streams, volumes of the cluster, and pods.
func newServer(t *testing.T) *server {
	t.Helper()

	all := metav1.Verbs{"get", "list", "watch", "patch"}
	s := &server{
		T: t, objects: map[string]*unstructured.Unstructured{}, forbid: map[string]bool{}, grown: make(chan struct{}),
		patches: map[string]string{},
		resources: []metav1.APIResource{
			{Group: "nats.example.org", Version: "v1", Name: "streams", SingularName: "stream", Kind: "Stream", Namespaced: true,
				ShortNames: []string{"st"}, Categories: []string{"managed"}, Verbs: all},
			{Group: "nats.example.org", Version: "v1", Name: "streams/status", Kind: "Stream", Namespaced: true, Verbs: all},
			{Group: "other.example.org", Version: "v1", Name: "streams", SingularName: "stream", Kind: "Stream",
				Namespaced: true, Verbs: all},
			{Group: "disk.example.org", Version: "v1", Name: "disks", SingularName: "disk", Kind: "Disk",
				Categories: []string{"moorage"}, Verbs: all},
			{Version: "v1", Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, Verbs: all},
			{Version: "v1", Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, Verbs: all},
		},
	}

	s.http = httptest.NewServer(s)
	t.Cleanup(s.http.Close)
	t.Cleanup(s.http.CloseClientConnections)

	s.kubeconfig = kubeconfig(t, s.http.URL)

	return s
}

// kubeconfig writes a kubeconfig for the URL, with the namespace sea.
func kubeconfig(t *testing.T, url string) string {
	t.Helper()

	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: url}
	cfg.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: canary}
	cfg.Contexts["here"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "sea"}
	cfg.CurrentContext = "here"

	file := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*cfg, file); err != nil {
		t.Fatal(err)
	}

	return file
}

// canary is a secret that no output may contain.
const canary = "canary-3f9d"

// A result is what a command has written.
type result struct {
	code     int
	out, err string
}

// run runs a command with an answer for its question.
func (s *server) run(answer string, args ...string) result {
	s.Helper()

	return runLimited(s.T, answer, s.limit, append(slices.Clone(args), "--kubeconfig", s.kubeconfig)...)
}

// brief is a timeout that is over as soon as the command watches.
const brief = "1s"

// limit ends a brief timeout when the command watches. Other timeouts do not end.
func (s *server) limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)

	if d.String() == brief {
		go func() {
			s.awaitWatch(ctx, 1)
			cancel()
		}()
	}

	return ctx, cancel
}

func runWith(t *testing.T, args ...string) result {
	t.Helper()

	return runLimited(t, "", limit, args...)
}

func runLimited(t *testing.T, answer string,
	limit func(context.Context, time.Duration) (context.Context, context.CancelFunc), args ...string,
) result {
	t.Helper()

	var out, stderr bytes.Buffer

	code := run(t.Context(), args, &console{
		in: strings.NewReader(answer), out: &out, err: &stderr, now: func() time.Time { return now }, limit: limit,
	})

	for _, text := range []string{out.String(), stderr.String()} {
		if strings.Contains(text, canary) {
			t.Errorf("a secret was printed:\n%s", text)
		}

		for _, r := range strings.ReplaceAll(text, "\n", "") {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Errorf("the control character %q was printed:\n%s", r, text)
			}
		}
	}

	return result{code, out.String(), stderr.String()}
}

// add adds an object, or replaces it.
func (s *server) add(resource string, o map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(resource, &unstructured.Unstructured{Object: o}, "")
}

// store stores an object. The caller holds the lock.
func (s *server) store(resource string, u *unstructured.Unstructured, kind string) {
	key := resource + "|" + u.GetNamespace() + "|" + u.GetName()

	if kind == "" {
		kind = "ADDED"
		if s.objects[key] != nil {
			kind = "MODIFIED"
		}
	}

	s.version++
	u = u.DeepCopy()
	u.SetResourceVersion(strconv.Itoa(s.version))

	s.objects[key] = u
	if kind == "DELETED" {
		delete(s.objects, key)
	}

	s.log = append(s.log, entry{s.version, resource, kind, u})
	close(s.grown)
	s.grown = make(chan struct{})
}

// remove deletes the stream orders.
func (s *server) remove() {
	const resource = "streams.nats.example.org"

	s.mu.Lock()
	defer s.mu.Unlock()

	if u := s.objects[resource+"|sea|orders"]; u != nil {
		s.store(resource, u, "DELETED")
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()

	if s.before != nil {
		s.before(r)
	}

	if s.away.Load() {
		s.refused.Add(1)
		fail(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "away")

		return
	}

	w.Header().Set("Content-Type", "application/json")

	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = append([]string{"apis", ""}, parts[1:]...)
		if len(parts) == 2 {
			reply(w, metav1.APIVersions{Versions: []string{"v1"}})

			return
		}
	}

	switch len(parts) {
	case 1:
		reply(w, s.groups())
	case 3:
		s.mu.Lock()
		away := s.forbid["discovery "+parts[1]]
		s.mu.Unlock()

		if away {
			fail(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "away")

			return
		}

		list := metav1.APIResourceList{GroupVersion: strings.Trim(parts[1]+"/"+parts[2], "/")}
		for _, res := range s.resources {
			if res.Group == parts[1] && res.Version == parts[2] {
				list.APIResources = append(list.APIResources, res)
			}
		}

		reply(w, list)
	default:
		s.serve(w, r, parts)
	}
}

func (s *server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{}

	for _, group := range []string{"nats.example.org", "other.example.org", "disk.example.org"} {
		v := metav1.GroupVersionForDiscovery{GroupVersion: group + "/v1", Version: "v1"}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
		})
	}

	return list
}

func reply(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) }

// serve serves objects: the parts are apis, group, version, then namespaces and a namespace or not, resource, name.
func (s *server) serve(w http.ResponseWriter, r *http.Request, parts []string) {
	group, rest, namespace := parts[1], parts[3:], ""
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}

	resource, name := strings.Trim(rest[0]+"."+group, "."), ""
	if len(rest) > 1 {
		name = rest[1]
	}

	verb := map[string]string{http.MethodGet: "get", http.MethodPatch: "patch"}[r.Method]

	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "get" && name == "":
		verb = "list"
	}

	s.mu.Lock()
	forbidden := s.forbid[verb+" "+resource]
	s.mu.Unlock()

	if forbidden {
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden,
			fmt.Sprintf("%s is forbidden: User \"reader\" cannot %s resource\n%q", resource, verb, resource))

		return
	}

	switch verb {
	case "watch":
		s.watch(w, r, resource, namespace)
	case "list":
		s.list(w, r, resource, namespace)
	case "patch":
		s.patch(w, r, resource, namespace, name)
	default:
		s.get(w, resource, namespace, name)
	}
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.WriteHeader(code)
	reply(w, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func (s *server) get(w http.ResponseWriter, resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	u := s.objects[resource+"|"+namespace+"|"+name]
	if u == nil {
		status := apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name).Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

		w.WriteHeader(http.StatusNotFound)
		reply(w, status)

		return
	}

	reply(w, u)
}

// selected returns whether a list or a watch has the object.
func selected(r *http.Request, namespace string, u *unstructured.Unstructured) bool {
	if namespace != "" && u.GetNamespace() != namespace {
		return false
	}

	for _, f := range strings.FieldsFunc(r.URL.Query().Get("fieldSelector"), func(c rune) bool { return c == ',' }) {
		path, want, _ := strings.Cut(f, "=")
		if got, _, _ := unstructured.NestedString(u.Object, strings.Split(path, ".")...); got != want {
			return false
		}
	}

	name, value, labeled := strings.Cut(r.URL.Query().Get("labelSelector"), "=")

	return !labeled || u.GetLabels()[name] == value
}

func (s *server) list(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	items := []*unstructured.Unstructured{}

	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if u := s.objects[key]; strings.HasPrefix(key, resource+"|") && selected(r, namespace, u) {
			items = append(items, u)
		}
	}

	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	items, next := items[begin:], ""

	if s.page > 0 && len(items) > s.page {
		items, next = items[:s.page], strconv.Itoa(begin+s.page)
	}

	kind, version := "List", "v1"
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"

		for i, u := range items {
			items[i] = &unstructured.Unstructured{Object: map[string]any{
				"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": u.Object["metadata"],
			}}
		}
	}

	reply(w, map[string]any{
		"kind": kind, "apiVersion": version, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version), "continue": next},
	})
}

func (s *server) watch(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	seen, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	flusher := http.NewResponseController(w)

	w.WriteHeader(http.StatusOK)
	_ = flusher.Flush()

	s.mu.Lock()
	s.watching++
	s.mu.Unlock()

	if s.endWatches.Add(-1) >= 0 {
		if s.expire {
			gone := apierrors.NewResourceExpired("too old").Status()
			gone.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			reply(w, map[string]any{"type": "ERROR", "object": gone})
		}

		return
	}

	for {
		s.mu.Lock()
		log, grown := slices.Clone(s.log), s.grown
		s.mu.Unlock()

		for _, e := range log {
			if e.version > seen && e.resource == resource && selected(r, namespace, e.object) {
				reply(w, map[string]any{"type": e.kind, "object": e.object})
			}

			seen = max(seen, e.version)
		}

		_ = flusher.Flush()

		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) patch(w http.ResponseWriter, r *http.Request, resource, namespace, name string) {
	body, _ := io.ReadAll(r.Body)

	var patch map[string]any

	_ = json.Unmarshal(body, &patch)

	s.mu.Lock()

	old := s.objects[resource+"|"+namespace+"|"+name]
	want, _, _ := unstructured.NestedString(patch, "metadata", "uid")
	version, _, _ := unstructured.NestedString(patch, "metadata", "resourceVersion")

	if old == nil || want != string(old.GetUID()) || version != "" && version != old.GetResourceVersion() {
		s.mu.Unlock()
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, "conflict")

		return
	}

	u := old.DeepCopy()
	annotations := u.GetAnnotations()

	if annotations == nil {
		annotations = map[string]string{}
	}

	changes, _, _ := unstructured.NestedMap(patch, "metadata", "annotations")
	if s.drop {
		changes = nil
	}

	for key, value := range changes {
		if v, set := value.(string); set {
			annotations[key] = v
		} else {
			delete(annotations, key)
		}
	}

	u.SetAnnotations(annotations)
	s.store(resource, u, "")
	s.patches[resource+"|"+namespace+"|"+name] = string(body)
	reply(w, u)

	if annotations[keyPaused] == "true" && !s.deaf {
		u = u.DeepCopy()
		with("Synced", "False", "ReconcilePaused", "")(u.Object)
		s.store(resource, u, "")
	}
	s.mu.Unlock()

	if s.patched != nil {
		s.patched(s, u)
	}
}

// annotation returns an annotation of the stream orders, and whether it is there.
func (s *server) annotation(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	v, found := s.objects["streams.nats.example.org|sea|orders"].GetAnnotations()[key]

	return v, found
}

// stream returns a Stream that is as specified. The changes are functions below.
func stream(name string, changes ...func(map[string]any)) map[string]any {
	o := map[string]any{
		"apiVersion": "nats.example.org/v1", "kind": "Stream",
		"metadata": map[string]any{
			"namespace": "sea", "name": name, "uid": "uid-" + name, "generation": int64(2),
			"creationTimestamp": now.Add(-24 * time.Hour).Format(time.RFC3339),
		},
		"spec": map[string]any{"forProvider": map[string]any{"password": canary}},
		"status": map[string]any{"conditions": []any{
			condition("Synced", "True", "ReconcileSuccess", ""), condition("UpToDate", "True", "ObserveMatched", ""),
			condition("Ready", "True", "Available", ""),
		}},
	}

	for _, change := range changes {
		change(o)
	}

	return o
}

// disk returns a Disk, which belongs to the cluster.
func disk(name string, changes ...func(map[string]any)) map[string]any {
	changes = append(changes, set("Disk", "kind"), set("disk.example.org/v1", "apiVersion"))
	o := stream(name, changes...)
	delete(o["metadata"].(map[string]any), "namespace")

	return o
}

func condition(kind, status, reason, message string) map[string]any {
	return map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": int64(2),
		"lastTransitionTime": now.Add(-5 * time.Minute).Format(time.RFC3339),
	}
}

// with replaces a condition.
func with(kind, status, reason, message string) func(map[string]any) {
	return func(o map[string]any) {
		all, _, _ := unstructured.NestedSlice(o, "status", "conditions")
		all = slices.DeleteFunc(all, func(c any) bool { return c.(map[string]any)["type"] == kind })
		_ = unstructured.SetNestedSlice(o, append(all, condition(kind, status, reason, message)), "status", "conditions")
	}
}

// set sets a field.
func set(value any, path ...string) func(map[string]any) {
	return func(o map[string]any) { _ = unstructured.SetNestedField(o, value, path...) }
}

// differs makes a stream differ in some fields.
func differs(o map[string]any) {
	with("UpToDate", "False", "UpdateRestricted", "the external resource\ndiffers in maxAge\x1b[31m")(o)
	set(map[string]any{"more": int64(3), "fields": []any{
		map[string]any{"path": "maxAge", "desired": `"24h0m0s"`, "observed": "\"72h0m0s\"\u202e\n"},
		map[string]any{"path": "password", "desired": canary, "observed": canary, "sensitive": true},
		map[string]any{"path": "storage", "desired": `"file"`, "immutable": true},
	}}, "status", "drift")(o)
}

// answering plays a provider that answers requests for a reconcile by an event.
func answering(message string) func(*server, *unstructured.Unstructured) {
	return func(s *server, o *unstructured.Unstructured) {
		value := o.GetAnnotations()["moorage.dev/reconcile-requested-at"]
		if value == "" {
			return
		}

		s.add("events", event(o, "answer", "ReconcileRequestHandled", message, value))
	}
}

func event(o *unstructured.Unstructured, name, reason, message, request string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{
			"namespace": o.GetNamespace(), "name": name,
			"annotations": map[string]any{"moorage.dev/reconcile-requested-at": request},
		},
		"involvedObject": map[string]any{"kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID())},
		"type":           "Normal", "reason": reason, "message": message,
		"eventTime":           now.Add(-time.Minute).Format(metav1.RFC3339Micro),
		"reportingController": "provider", "source": map[string]any{},
	}
}

// leave ends all watches once a command watches, and is away from then on. It returns the limit of a
// command that has noticed it.
func (s *server) leave() func(context.Context, time.Duration) (context.Context,
	context.CancelFunc,
) {
	return func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)

		go func() {
			s.awaitWatch(ctx, 1)
			s.away.Store(true)
			s.http.CloseClientConnections()
			s.until(ctx, func() bool { return s.refused.Load() > 1 }) // the answer to the first one has arrived
			cancel()
		}()

		return ctx, cancel
	}
}

// until waits until a condition is true.
func (s *server) until(ctx context.Context, is func() bool) {
	for ctx.Err() == nil && !is() {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// awaitWatch waits until a watch was started.
func (s *server) awaitWatch(ctx context.Context, number int) {
	s.until(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()

		return s.watching >= number
	})
}
