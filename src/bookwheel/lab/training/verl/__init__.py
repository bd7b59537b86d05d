"""Training on verl: the workflow, rewards and advantages of this package on Ray, FSDP2 or Megatron, vLLM or SGLang."""
