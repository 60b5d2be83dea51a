class Bailiwick < Formula
  desc "Compiler for Kubernetes access policy"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    @IF aarch64-apple-darwin@
    on_arm do
      url "@URL aarch64-apple-darwin@"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    @END@
    @IF x86_64-apple-darwin@
    on_intel do
      url "@URL x86_64-apple-darwin@"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
    @END@
  end

  on_linux do
    @IF aarch64-unknown-linux-gnu@
    on_arm do
      url "@URL aarch64-unknown-linux-gnu@"
      sha256 "@SHA256 aarch64-unknown-linux-gnu@"
    end
    @END@
    @IF x86_64-unknown-linux-gnu@
    on_intel do
      url "@URL x86_64-unknown-linux-gnu@"
      sha256 "@SHA256 x86_64-unknown-linux-gnu@"
    end
    @END@
  end

  def install
    bin.install "bailiwick", "kubectl-bailiwick"
    bash_completion.install "completions/bailiwick.bash" => "bailiwick"
    zsh_completion.install "completions/_bailiwick"
    fish_completion.install "completions/bailiwick.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    system bin/"bailiwick", "init", "demo"
    cd "demo" do
      system bin/"bailiwick", "render"
      system bin/"bailiwick", "check"
    end
  end
end
