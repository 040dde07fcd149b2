package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// Providers are users of a group that may do what the documentation says that a provider
// needs, and nothing else. Those of the other group must not watch Secrets.
const (
	providers       = "service-providers"
	modestProviders = "modest-service-providers"
)

var marker = regexp.MustCompile(`\+kubebuilder:rbac:groups=([^,]*),resources=([^,]*),verbs=(\S+)`)

// documented returns the rules that stand in the comment of a package, for our kinds.
func documented(file string) ([]rbacv1.PolicyRule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ours := strings.NewReplacer(`""`, "", "GROUP", group.Group, "OBJECTS", "gardens", "CONFIGS", "gardenconfigs")
	var rules []rbacv1.PolicyRule
	for _, m := range marker.FindAllStringSubmatch(string(text), -1) {
		split := func(i int) []string { return strings.Split(ours.Replace(m[i]), ";") }
		rules = append(rules, rbacv1.PolicyRule{APIGroups: split(1), Resources: split(2), Verbs: split(3)})
	}
	if len(rules) == 0 {
		return nil, errors.Errorf("there are no rules in %s", file)
	}

	return rules, nil
}

// roles returns what a provider may do on the onboarding cluster and on the platform.
func roles() (map[*plane][]rbacv1.PolicyRule, error) {
	own, err := documented("../../doc.go")
	if err != nil {
		return nil, err
	}
	access, err := documented("../../clusteraccess/doc.go")
	if err != nil {
		return nil, err
	}
	of := map[*plane][]rbacv1.PolicyRule{platform: access}
	for _, rule := range own {
		where := onboarding
		if slices.Contains(rule.Resources, "gardenconfigs") {
			where = platform
		}
		of[where] = append(of[where], rule)
	}

	return of, nil
}

// bind lets providers do what they may, and waits until they can.
func bind(ctx context.Context) error {
	rules, err := roles()
	if err != nil {
		return err
	}
	for p, may := range rules {
		modest := slices.Clone(may)
		for i, rule := range modest {
			if slices.Contains(rule.Resources, "secrets") {
				modest[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs),
					func(v string) bool { return v == "watch" })
			}
		}
		for name, may := range map[string][]rbacv1.PolicyRule{providers: may, modestProviders: modest} {
			meta := metav1.ObjectMeta{Name: name}
			bound := &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: name}},
			}
			for _, o := range []client.Object{&rbacv1.ClusterRole{ObjectMeta: meta, Rules: may}, bound} {
				if err := client.IgnoreAlreadyExists(p.api.Create(ctx, o)); err != nil {
					return err
				}
			}
			if err := p.allows(ctx, name); err != nil {
				return err
			}
		}
	}

	return nil
}

// allows waits until members of a group may do the last thing that they were allowed.
func (p *plane) allows(ctx context.Context, group string) error {
	config, err := p.UserConfig(ctx, "first", group)
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	var list client.ObjectList = &GardenList{}
	if p == platform {
		list = &GardenConfigList{}
	}

	return poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true,
		func(ctx context.Context) (bool, error) {
			return c.List(ctx, list) == nil, nil
		})
}

// user returns the configuration that the provider of an estate has for a cluster, and lets
// what it asks be noted.
func (e *estate) user(p *plane) *rest.Config {
	e.Helper()
	as := providers
	if e.modest {
		as = modestProviders
	}
	config, err := p.UserConfig(e.Context(), "provider-"+e.ns, as)
	if err != nil {
		e.Fatal(err)
	}
	if p == platform {
		e.permit(config)
	}
	if e.asked == nil {
		e.asked = map[*plane]*notes{}
	}
	if e.asked[p] == nil {
		e.asked[p] = &notes{}
	}
	config.Wrap(e.asked[p].listen)

	return config
}

// permit allows what only some providers need, and waits until they can.
func (e *estate) permit(config *rest.Config) {
	e.Helper()
	rules := map[string]rbacv1.PolicyRule{}
	if e.channel {
		rules[""] = rbacv1.PolicyRule{
			APIGroups: []string{group.Group}, Resources: []string{"gardenconfigs"},
			Verbs: []string{"get"},
		}
	}
	if e.references {
		rules[e.ns] = rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"},
			Verbs: []string{"get", "list", "watch"},
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		e.Fatal(err)
	}
	for ns, rule := range rules {
		meta := metav1.ObjectMeta{Namespace: ns, Name: "provider-" + e.ns}
		subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "provider-" + e.ns}}
		role, bound := client.Object(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}),
			client.Object(&rbacv1.RoleBinding{
				ObjectMeta: meta,
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
				Subjects:   subjects,
			})
		if ns == "" {
			role = &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}
			bound = &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta,
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
				Subjects:   subjects,
			}
		}
		for _, o := range []client.Object{role, bound} {
			if err := client.IgnoreAlreadyExists(platform.api.Create(e.Context(), o)); err != nil {
				e.Fatal(err)
			}
		}
		wait.Until(e.T, "the provider may do it", func() bool {
			if ns == "" {
				return !kerrors.IsForbidden(c.Get(e.Context(), client.ObjectKey{Name: e.ns}, &GardenConfig{}))
			}

			return c.List(e.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns)) == nil
		})
	}
}

// Notes are what a client has asked for, as a role would have it: group/resource verb.
type notes struct {
	mu        sync.Mutex
	asked     map[string]bool
	forbidden map[string]bool
}

func (n *notes) listen(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return response, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, what := range asked(r) {
			if n.asked == nil {
				n.asked, n.forbidden = map[string]bool{}, map[string]bool{}
			}
			n.asked[what] = true
			if response.StatusCode == http.StatusForbidden {
				n.forbidden[what] = true
			}
		}

		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// asked reads a request. It is empty for what is no resource, such as discovery. A watch
// that begins with all there is stands for a list, too, which takes its place with servers
// that do not know it.
func asked(r *http.Request) []string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var in string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		in, parts = parts[1], parts[3:]
	default:
		return nil
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource := parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
		http.MethodDelete: "delete",
	}[r.Method]
	did := func(verbs ...string) (all []string) {
		for _, v := range verbs {
			all = append(all, fmt.Sprintf("%s/%s %s", in, resource, v))
		}

		return all
	}
	switch query := r.URL.Query(); {
	case verb != "":
		return did(verb)
	case query.Get("sendInitialEvents") != "":
		return did("list", "watch")
	case query.Get("watch") != "":
		return did("watch")
	case len(parts) > 1:
		return did("get")
	default:
		return did("list")
	}
}

// all returns what was asked for, and what of it was forbidden, in order.
func (n *notes) all() (all, refused []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for what := range n.asked {
		all = append(all, what)
	}
	for what := range n.forbidden {
		refused = append(refused, what)
	}
	slices.Sort(all)
	slices.Sort(refused)

	return all, refused
}

// TestRole: in a life in which all happens that may happen a provider asks for everything
// that the documented role allows, and for nothing that it does not.
func TestRole(t *testing.T) {
	rules, err := roles()
	if err != nil {
		t.Fatal(err)
	}
	e := newEstate(t, "role")
	e.workload, e.apart = true, true
	e.grant()
	e.start()
	g := e.ready("g")
	e.gardener.mu.Lock()
	e.gardener.meanwhile = func(g *Garden) { // so that our own write of the status finds another version
		merge(t, onboarding.api, g.DeepCopyObject().(*Garden), `{"metadata":{"labels":{"seen":"yes"}}}`)
		g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{
			Type: "Seen", Status: "True", Reason: "Seen", LastTransitionTime: metav1.Now(),
		})
	}
	e.gardener.mu.Unlock()
	if err := e.granter.Rotate(t.Context(), client.ObjectKeyFromObject(e.request(g))); err != nil {
		t.Fatal(err)
	}
	e.passes(5)
	e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
	wait.Until(t, "Secrets and clusters are watched", func() bool {
		did, _ := e.asked[platform].all()

		return slices.Contains(did, "/secrets watch") && slices.Contains(did, "clusters.openmcp.cloud/clusters watch")
	})
	e.delete(onboarding.api, g)
	e.vanishes(g)
	for p, may := range rules {
		var allowed []string
		for _, rule := range may {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allowed = append(allowed, fmt.Sprintf("%s/%s %s", rule.APIGroups[0], resource, verb))
				}
			}
		}
		slices.Sort(allowed)
		did, refused := e.asked[p].all()
		if diff := cmp.Diff(allowed, did); diff != "" || len(refused) != 0 {
			t.Errorf("the role is not exactly what is needed; refused: %v; -documented +asked:\n%s", refused, diff)
		}
	}
}
