package checks

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

// oci checks that an Application has the objects of the target that `bailiwick pack` and crane bring to a tag of a registry, also after
// the next push. The control is a tag that is not there.
func (b *bench) oci(ctx context.Context) (string, error) {
	if b.Registry == "" {
		return "only Argo CD has a registry here", nil
	}
	repository, err := source.NewRepository(b.Work, "oci")
	if err != nil {
		return "", err
	}
	workspace, address := repository.Workspace(source.Folder, b.Binary), b.Registry+"/access"
	secret := gitops.RegistrySecret("oci", address)
	present, absent := gitops.ImageApplication("oci", address, "production"), gitops.ImageApplication("oci-absent", address, "absent")
	for _, namespaces := range [][]string{{"by-oci"}, {"by-oci", "by-next-oci"}} {
		digest, err := b.push(workspace, address+":production", namespaces...)
		if err != nil {
			return "", err
		}
		if err := b.Server.Apply(ctx, secret, present, absent); err != nil {
			return "", err
		}
		// Argo CD asks for the digest of a tag as often as for the commit of a branch, or on a refresh.
		if err := b.Applier.Again(ctx, []cluster.Key{cluster.KeyOf(present)}); err != nil {
			return "", err
		}
		if err := b.becomes(ctx, cluster.KeyOf(present), digest, gitops.Ready, ""); err != nil {
			return "", err
		}
		if err := b.has(ctx, workspace); err != nil {
			return "", err
		}
	}
	err = b.becomes(ctx, cluster.KeyOf(absent), "", gitops.Failed, "cannot get digest for revision absent")
	return "the Application of a tag has the objects of the target, also after the next push; a tag that is not there fails", err
}

// push packs a target with namespaces, pushes it to a tag, and returns the digest that both programs print. The output is rendered, too.
func (b *bench) push(workspace *source.Workspace, tag string, namespaces ...string) (string, error) {
	// The files of the target lie in several folders.
	err := write(workspace, map[string]string{
		"bailiwick.yaml": b.configuration(workspace, settings{name: "oci", targets: []string{"production"}}),
		"policies/oci.yaml": namespaceSet("oci", namespaces...) + "---\n" + permissionSet("oci", "ClusterRole", "pods") + "---\n" +
			grant("oci", "oci", "", namespaces...),
	})
	if err != nil {
		return "", err
	}
	layout := filepath.Join(b.Work, fmt.Sprintf("layout-%d", len(namespaces)))
	packed, code, err := workspace.Run("pack", "production", "--output", layout)
	if err == nil && code != 0 {
		err = differs("pack ends with %d:\n%s", code, packed)
	}
	if err != nil {
		return "", err
	}
	pushed, err := exec.Command("crane", "push", layout, tag).Output()
	if err != nil {
		return "", fmt.Errorf("crane push: %w", err)
	}
	_, digest, _ := strings.Cut(strings.TrimSpace(string(pushed)), "@")
	if digest == "" || !strings.Contains(packed, digest) {
		return "", differs("crane pushes %q, and pack prints %q", pushed, packed)
	}
	return digest, nil
}

// has checks that all objects of the output of a workspace are in the cluster.
func (b *bench) has(ctx context.Context, workspace *source.Workspace) error {
	wanted, err := keys(workspace)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		return fmt.Errorf("there are no objects in %s", workspace.Absolute("out"))
	}
	for _, key := range wanted {
		found, err := b.Server.Get(ctx, key)
		if err != nil {
			return err
		}
		if found == nil {
			return differs("%s is not in the cluster", key)
		}
	}
	return nil
}
